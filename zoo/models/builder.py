"""Blueprint -> Transformer, and the other parts that a blueprint names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
from torch import nn

from zoo.core.blueprint import Blueprint
from zoo.core.errors import CombinationError, PluginError, ZooError
from zoo.core.plan import Plan, PlannedPart, make_plan, plan_part
from zoo.core.plugins import DEFAULT_PLUGINS
from zoo.core.registry import Registry
from zoo.core.rules import check
from zoo.models.external import construct_external, missing_methods
from zoo.models.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer, Transformer
from zoo.parts.decoding.base import Decoding
from zoo.parts.init.base import initialise, scale_branches
from zoo.parts.loss.base import SequenceLoss
from zoo.parts.mask.adapter import MaskAdapter
from zoo.parts.mask.base import MaskForm
from zoo.parts.schedule.base import Schedule

Factory = Callable[..., Any]


def build(
    blueprint: Blueprint,
    *,
    seed: int | None = None,
    parts: Mapping[str, Factory] | None = None,
    registry: Registry | None = None,
    allow: Collection[str] = (),
) -> Transformer:
    """The model that a blueprint describes, in train mode, float32, on the CPU.

    Args:
        blueprint: choices and sizes.
        seed: of the initial weights; without it they come from torch's global generator. The same seed
            gives the same weights whichever exact attention is chosen.
        parts: factories that stand in for the chosen variants, by axis; called with the arguments that
            the axis hands to every variant.
        registry: where names are looked up; the process's own by default.
        allow: rules of combination that may be broken, to see what comes of it; `zoo.core.rules` has their names.

    Raises:
        CombinationError: a rule of combination is broken; the text names it and says what would work.
        UnknownNameError: `parts` names no axis, or `allow` no rule.
        ZooError: a part from a file is missing, broken or not written yet; `blueprint` is none.
    """
    if not isinstance(blueprint, Blueprint):
        advice = "`make_blueprint(...)` makes one, `get_preset(NAME).blueprint()` gives a preset's"
        raise ZooError(f"build: expected a Blueprint, got {type(blueprint).__name__}: {advice}.")
    plan = make_plan(blueprint, registry)
    for axis in parts or {}:
        plan.registry.axis(axis)
    check(plan, allow)
    assembly = _Assembly(plan, parts or {})
    seed = int(torch.randint(2**62, ())) if seed is None else seed
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = assembly.model()
        torch.manual_seed(seed)
        tied = plan["embedding"].capabilities["tied"]
        initialise(model, assembly.make("init"), skip=("head.weight", "head.inner.weight") if tied else ())
        for layer in (*model.encoder.layers, *model.decoder.layers):
            scale_branches(layer, getattr(layer.norm, "gain", 1.0))
    return model


def build_loss(blueprint: Blueprint, registry: Registry | None = None) -> SequenceLoss:
    """The loss that a blueprint names; it takes what the head gives, and labels."""
    return _factory(plan_part("loss", blueprint["loss"], registry))(blueprint.sizes.pad)  # type: ignore[no-any-return]


def build_schedule(
    blueprint: Blueprint, steps: int, warmup: int, registry: Registry | None = None
) -> Schedule:
    """The schedule that a blueprint names, for a training of so many steps."""
    return _factory(plan_part("schedule", blueprint["schedule"], registry))(steps, warmup)  # type: ignore[no-any-return]


def build_decoding(blueprint: Blueprint, registry: Registry | None = None) -> Decoding:
    """The decoding that a blueprint names."""
    return _factory(plan_part("decoding", blueprint["decoding"], registry))()  # type: ignore[no-any-return]


def _factory(part: PlannedPart) -> Factory:
    """Return a function that makes a part: its class, with its options."""
    variant, options, cls = part.variant, part.options, part.variant.load()
    if variant.is_file:
        return partial(construct_external, cls, variant.axis, variant.path)

    def make(*args: Any, **needs: Any) -> Any:
        try:
            if "dropout" in options:  # in place of the model's, which comes last
                args = args[:-1]
            return cls(*args, **options, **needs)
        except ValueError as error:
            raise CombinationError(f"{variant.axis}={variant.name}: {error}") from error
        except TypeError as error:
            if variant.origin in DEFAULT_PLUGINS:
                raise
            what = f"{variant.axis}={variant.name}, of plugin '{variant.origin}', cannot be constructed"
            raise PluginError(f"{what}: {missing_methods(cls) or error}.") from error

    return make


class _Assembly:
    """The parts of one model, made as they are asked for."""

    def __init__(self, plan: Plan, parts: Mapping[str, Factory]) -> None:
        self.plan, self.sizes, self.replaced = plan, plan.sizes, parts.keys()
        self.factories: dict[str, Factory] = {axis: _factory(part) for axis, part in plan.parts.items()}
        self.factories |= parts
        own = plan.cross is plan["attention"]
        self.make_cross = self.factories["attention"] if own else _factory(plan.cross)

    def make(self, axis: str, *args: Any, causal: bool = False) -> Any:
        """A part of the chosen kind, with what it needs to know beyond what the axis hands to all."""
        known = {**asdict(self.sizes), "causal": causal}
        needs = () if axis in self.replaced else self.plan[axis].capabilities.get("needs", ())
        return self.factories[axis](*args, **{name: known[name] for name in needs})

    def model(self) -> Transformer:
        """The whole, with what weights its parts drew."""
        sizes, travelling = self.sizes, self.make("mask")
        embeddings = self.make("embedding", sizes.src_vocab, sizes.tgt_vocab, sizes.d_model)
        src_positions = self.make("encoding", sizes.d_model, sizes.max_len)
        tgt_positions = self.make("encoding", sizes.d_model, sizes.max_len, causal=True)
        adapter, cross_adapter = (
            MaskAdapter(travelling, self.taken(attention))
            for attention in (self.plan["attention"], self.plan.cross)
        )
        encoder = [self.encoder_layer() for _ in range(sizes.num_encoder_layers)]
        decoder = [self.decoder_layer() for _ in range(sizes.num_decoder_layers)]
        head = self.make("head", sizes.d_model, sizes.tgt_vocab)
        if self.plan["embedding"].capabilities["tied"]:
            getattr(head, "inner", head).weight = embeddings.tgt_table.weight  # inside a user's own part
        return Transformer(
            Encoder(encoder, self.final_norm(), adapter),
            Decoder(decoder, self.final_norm(), adapter, cross_adapter),
            embeddings,
            src_positions,
            tgt_positions,
            head,
            self.make("masking", sizes.pad),
            travelling,
            sizes.dropout,
            self.plan.cacheable and not self.replaced,
            self.plan.packable and not self.replaced,
        )

    def taken(self, attention: PlannedPart) -> MaskForm:
        """The form of mask that an attention gets."""
        form = self.plan.mask_form(attention)
        assert form is not None  # rule mask-form
        return form.load()()  # type: ignore[no-any-return]

    def encoder_layer(self) -> EncoderLayer:
        return EncoderLayer(self.attention(), self.feed_forward(), self.placement(2))

    def decoder_layer(self) -> DecoderLayer:
        cross = self.make_cross(self.sizes.d_model, self.sizes.num_heads, self.sizes.dropout)
        return DecoderLayer(self.attention(), cross, self.feed_forward(), self.placement(3))

    def attention(self) -> nn.Module:
        return self.make("attention", self.sizes.d_model, self.sizes.num_heads, self.sizes.dropout)  # type: ignore[no-any-return]

    def feed_forward(self) -> nn.Module:
        return self.make("feedforward", self.sizes.d_model, self.sizes.d_ff, self.sizes.dropout)  # type: ignore[no-any-return]

    def placement(self, num_sublayers: int) -> nn.Module:
        return self.make("norm", self.norm, num_sublayers, self.sizes.dropout)  # type: ignore[no-any-return]

    def norm(self) -> nn.Module:
        return self.make("norm-type", self.sizes.d_model)  # type: ignore[no-any-return]

    def final_norm(self) -> nn.Module:
        return self.norm() if self.plan["norm"].capabilities["final_norm"] else nn.Identity()


def parameters_by_block(model: Transformer) -> dict[str, int]:
    """Trained numbers by block of the model, in the order in which data goes through; shared ones count once."""
    blocks: dict[str, list[nn.Module]] = {
        "embeddings": [model.embeddings],
        "positions": [model.src_positions, model.tgt_positions],
        **{f"encoder layer {i}": [layer] for i, layer in enumerate(model.encoder.layers, 1)},
        "encoder final norm": [model.encoder.final_norm],
        **{f"decoder layer {i}": [layer] for i, layer in enumerate(model.decoder.layers, 1)},
        "decoder final norm": [model.decoder.final_norm],
        "head": [model.head],
    }
    seen: set[int] = set()
    counts: dict[str, int] = {}
    for name, modules in blocks.items():
        parameters = {id(p): p for module in modules for p in module.parameters() if id(p) not in seen}
        seen |= parameters.keys()
        counts[name] = sum(p.numel() for p in parameters.values())
    return {name: count for name, count in counts.items() if count}
