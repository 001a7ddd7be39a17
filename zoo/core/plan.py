"""A plan: what a blueprint decides, looked up once and then only read. Metadata only, no torch.

blueprint = make_blueprint(attention="fused")    text -> choices: `Registry.resolve`, once per choice
plan = make_plan(blueprint)                      choices -> variants and options, no look-up
check(plan)                                      zoo.core.rules; `checked_plan(blueprint)` does both
build_plan(plan)                                 zoo.models.builder: the classes; `build(blueprint)` does all three
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
        parts: by axis; where layers differ, those of the first.
        registry: the variants that there are, for what stands in for a choice and for advice.
        patterns: by axis in which layers differ: the part of each layer, up to where they are repeated.
    """

    sizes: Sizes
    parts: Mapping[str, PlannedPart]
    registry: Registry = field(repr=False, compare=False)
    patterns: Mapping[str, tuple[PlannedPart, ...]] = field(default_factory=lambda: FrozenMapping({}))

    def __getitem__(self, axis: str) -> PlannedPart:
        return self.parts[axis]

    def pattern(self, axis: str) -> tuple[PlannedPart, ...]:
        """The part of each layer, up to where they are repeated; one if all layers have the same."""
        return self.patterns.get(axis, (self.parts[axis],))

    def layer(self, number: int) -> Plan:
        """The plan of a model all of whose layers are as the one of this number, counted from 0."""
        if not self.patterns:
            return self
        here = {axis: parts[number % len(parts)] for axis, parts in self.patterns.items()}
        return replace(self, parts=FrozenMapping({**self.parts, **here}), patterns=FrozenMapping({}))

    @property
    def num_layers(self) -> dict[str, int]:
        """The number of layers of each stack."""
        return {
            stack: getattr(self.sizes, f"num_{stack}_layers")
            for stack in ("encoder", "decoder")
            if self.has(stack)
        }

    @cached_property
    def kinds(self) -> tuple[tuple[Plan, tuple[int, ...]], ...]:
        """The different layers, each as a plan of its own, and which layers are so, counted from 0."""
        period = math.lcm(*(len(parts) for parts in self.patterns.values()))
        found: dict[tuple[int, ...], list[int]] = {}
        for number in range(min(max(self.num_layers.values()), period)):
            here = tuple(id(parts[number % len(parts)]) for parts in self.patterns.values())
            found.setdefault(here, []).append(number)
        return tuple((self.layer(numbers[0]), tuple(numbers)) for numbers in found.values())

    def has(self, stack: str) -> bool:
        """Return whether the model has an "encoder", or a "decoder"."""
        return stack in self["assembly"].capabilities["stacks"]

    @property
    def reads_images(self) -> bool:
        """Return whether the model reads images, not tokens."""
        return bool(self["assembly"].capabilities["reads"] == "images")

    @property
    def head_dim(self) -> int:
        """The head_dim of the self-attention."""
        given = self["attention"].options.get("head_dim")
        return given if isinstance(given, int) else self.sizes.d_model // self.sizes.num_heads

    @property
    def attentions(self) -> dict[str, PlannedPart]:
        """The attention in each role that there is: "self", and "cross" in a decoder that attends to an encoder."""
        crosses = self.has("encoder") and self.has("decoder")
        return {"self": self["attention"], **({"cross": self.cross} if crosses else {})}

    @property
    def unused_sizes(self) -> tuple[str, ...]:
        """The sizes that are those of a stack which the model has not."""
        without_encoder: tuple[str, ...] = () if self.has("encoder") else ("num_encoder_layers", "src_vocab")
        if self.reads_images:
            without_encoder = ("src_vocab",)
        return (*without_encoder, *(() if self.has("decoder") else ("num_decoder_layers",)))

    @property
    def unused_axes(self) -> tuple[str, ...]:
        """The axes whose part the model does not use: those of tokens where it reads images, and decoding."""
        of_tokens = ("embedding", "masking", "mask") if self.reads_images else ()
        return (*of_tokens, *(() if self.has("decoder") else ("decoding",)))

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

    def mask_form(self, role: str) -> Variant | None:
        """The form of mask that attentions get: the model's if all take it, else one that all take; None if none.

        `role` is "self" or "cross".
        """
        known = {variant.name: variant for variant in self.registry.variants("mask")}
        each = [plan.attentions[role].capabilities["mask_forms"] for plan, _ in self.kinds]
        forms = [form for form in each[0] if form in known and all(form in one for one in each)]
        chosen = self["mask"].name
        return known[chosen] if chosen in forms else known[forms[0]] if forms else None

    @property
    def cacheable(self) -> bool:
        """Return whether decoding can keep keys and values.

        Every part of the decoder declares it, and no position sees a later one, as it does where its whole
        row is hidden and filled.
        """
        if self.patterns:
            return all(plan.cacheable for plan, _ in self.kinds)
        parts = (*self.attentions.values(), self["encoding"], self["norm"])
        leaks = (
            self["masking"].capabilities["blank_rows"] and not self["attention"].capabilities["blanks_rows"]
        )
        return self.has("decoder") and all(p.capabilities["cacheable"] for p in parts) and not leaks

    @property
    def packable(self) -> bool:
        """Return whether padding can be left out of all but the attention.

        Both attentions declare it, every other part treats each position by itself, and no part is a user's
        own file. Positions are the same in all layers.
        """
        if self.patterns:
            return "encoding" not in self.patterns and all(plan.packable for plan, _ in self.kinds)
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
    each = {axis: plan_layers(axis, choice, registry) for axis, choice in blueprint.choices.items()}
    parts = FrozenMapping({axis: layers[0] for axis, layers in each.items()})
    patterns = FrozenMapping({axis: layers for axis, layers in each.items() if len(layers) > 1})
    return Plan(blueprint.sizes, parts, registry, patterns)


def plan_layers(axis: str, choice: Choice, registry: Registry | None = None) -> tuple[PlannedPart, ...]:
    """The choice of each layer as the builder needs it, equal ones the same object. Raises as `make_plan`."""
    made: dict[str, PlannedPart] = {}
    for one in choice.layers:
        if str(one) not in made:
            made[str(one)] = plan_part(axis, one, registry)
    return tuple(made[str(one)] for one in choice.layers)


def plan_part(axis: str, choice: Choice, registry: Registry | None = None) -> PlannedPart:
    """One choice, that of the first layer, as the builder needs it. Looked up only if it was made by hand.

    Raises as `make_plan`.
    """
    registry, variant = registry or get_registry(), choice.variant
    options: Mapping[str, Any] = choice.options
    if variant is None or not registry.knows(variant):
        variant, typed = registry.resolve(axis, choice.name)
        options = {**typed, **{name: variant.option(name).check(value) for name, value in options.items()}}
    given = {name: value for name, value in options.items() if value is not None}
    return PlannedPart(choice.name, variant, FrozenMapping(given))
