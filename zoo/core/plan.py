"""A plan: what a blueprint decides, looked up once and then only read. Metadata only, no torch.

blueprint = make_blueprint(attention="fused")    text -> choices: `Registry.resolve`, once per choice
plan = make_plan(blueprint)                      choices -> variants and options, no look-up
check(plan)                                      zoo.core.rules
build(blueprint)                                 zoo.models.builder: the classes, from the plan
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from zoo.core.blueprint import Blueprint, Choice, Sizes
from zoo.core.frozen import FrozenMapping
from zoo.core.plugins import get_registry
from zoo.core.registry import Registry, Variant


@dataclass(frozen=True)
class PlannedPart:
    """The variant of one axis, and the options that its class gets.

    Attributes:
        name: as it was chosen: a registered name, or "path/to/file.py:Class".
        variant: what the name stands for.
        options: keyword arguments of the class, checked; an option that is None is left to the class.
    """

    name: str
    variant: Variant
    options: Mapping[str, Any]

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Return what the variant declares about itself."""
        return self.variant.capabilities


@dataclass(frozen=True)
class Plan:
    """Every part of a model before anything is built: what the rules check and the builder reads.

    Attributes:
        sizes: of the model.
        parts: by axis.
        registry: the variants that there are, for what stands in for a choice and for advice.
    """

    sizes: Sizes
    parts: Mapping[str, PlannedPart]
    registry: Registry = field(repr=False, compare=False)

    def __getitem__(self, axis: str) -> PlannedPart:
        return self.parts[axis]

    def has(self, stack: str) -> bool:
        """Whether the model has an "encoder", or a "decoder"."""
        return stack in self["assembly"].capabilities["stacks"]

    @property
    def attentions(self) -> dict[str, PlannedPart]:
        """The attention in each role that there is: "self", and "cross" in a decoder that attends to an encoder."""
        crosses = self.has("encoder") and self.has("decoder")
        return {"self": self["attention"], **({"cross": self.cross} if crosses else {})}

    @property
    def unused_sizes(self) -> tuple[str, ...]:
        """The sizes that are those of a stack which the model has not."""
        without_encoder = () if self.has("encoder") else ("num_encoder_layers", "src_vocab")
        return (*without_encoder, *(() if self.has("decoder") else ("num_decoder_layers",)))

    @cached_property
    def cross(self) -> PlannedPart:
        """The cross-attention: the chosen attention, or the one that it declares as its replacement there."""
        chosen = self["attention"]
        name = chosen.capabilities["cross"]
        if not name:
            return chosen
        other = self.registry.get("attention", name)
        known = {option.name for option in other.options}
        return PlannedPart(
            name, other, FrozenMapping({n: value for n, value in chosen.options.items() if n in known})
        )

    def mask_form(self, attention: PlannedPart) -> Variant | None:
        """The form of mask that an attention gets: the model's if it takes it, else its first; None if none."""
        known = {variant.name: variant for variant in self.registry.variants("mask")}
        forms = [form for form in attention.capabilities["mask_forms"] if form in known]
        chosen = self["mask"].name
        return known[chosen] if chosen in forms else known[forms[0]] if forms else None

    @property
    def cacheable(self) -> bool:
        """Return whether decoding can keep keys and values.

        Every part of the decoder declares it, and no position sees a later one, as it does where its whole
        row is hidden and filled.
        """
        parts = (*self.attentions.values(), self["encoding"], self["norm"])
        leaks = (
            self["masking"].capabilities["blank_rows"] and not self["attention"].capabilities["blanks_rows"]
        )
        return self.has("decoder") and all(p.capabilities["cacheable"] for p in parts) and not leaks

    @property
    def packable(self) -> bool:
        """Return whether padding can be left out of all but the attention.

        Both attentions declare it, every other part treats each position by itself, and no part is a user's
        own file.
        """
        able = all(part.capabilities["packs"] for part in self.attentions.values())
        able = able and self["norm"].capabilities["cacheable"]
        return able and not any(part.variant.is_file for part in self.parts.values())


def make_plan(blueprint: Blueprint, registry: Registry | None = None) -> Plan:
    """The plan of `blueprint`.

    Raises:
        UnknownNameError: a variant or option that is not registered.
        ZooError: a file that does not exist.
    """
    registry = registry or get_registry()
    parts = {axis: plan_part(axis, choice, registry) for axis, choice in blueprint.choices.items()}
    return Plan(blueprint.sizes, FrozenMapping(parts), registry)


def plan_part(axis: str, choice: Choice, registry: Registry | None = None) -> PlannedPart:
    """One choice as the builder needs it. Looked up only if the choice was made by hand. Raises as `make_plan`."""
    registry, variant = registry or get_registry(), choice.variant
    options: Mapping[str, Any] = choice.options
    if variant is None or not registry.knows(variant):
        variant, typed = registry.resolve(axis, choice.name)
        options = {**typed, **{name: variant.option(name).check(value) for name, value in options.items()}}
    given = {name: value for name, value in options.items() if value is not None}
    return PlannedPart(choice.name, variant, FrozenMapping(given))
