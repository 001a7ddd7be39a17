"""Blueprint -> Transformer, and the other parts that a blueprint names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from types import MappingProxyType
from typing import Any, cast

import torch
from torch import nn

from zoo.core.blueprint import Blueprint
from zoo.core.errors import CombinationError, PluginError, ZooError, message_of
from zoo.core.plan import Plan, PlannedPart, make_plan, plan_part
from zoo.core.plugins import DEFAULT_PLUGINS
from zoo.core.recipe import Recipe
from zoo.core.registry import Registry
from zoo.core.rules import check
from zoo.models.decoder_only import CausalDecoder
from zoo.models.external import construct_external, missing_methods
from zoo.models.per_layer import PerLayerCausalDecoder, PerLayerDecoder, PerLayerEncoder
from zoo.models.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer, Model
from zoo.parts.decoding.base import Decoding
from zoo.parts.embedding.base import Embeddings, keep_only
from zoo.parts.encoding.per_layer import LayerPositions
from zoo.parts.init.base import initialise, scale_branches
from zoo.parts.loss.base import SequenceLoss
from zoo.parts.mask.adapter import MaskAdapter
from zoo.parts.mask.base import MaskForm
from zoo.parts.masking.base import Masking
from zoo.parts.optimizer.base import matrices
from zoo.parts.schedule.base import Schedule

Factory = Callable[..., Any]
NONE: Mapping[str, Factory] = MappingProxyType({})


def build(
    blueprint: Blueprint,
    *,
    seed: int | None = None,
    parts: Mapping[str, Factory] | None = None,
    registry: Registry | None = None,
    allow: Collection[str] = (),
) -> Model:
    """The model that a blueprint describes, in train mode, float32, on the CPU.

    It is of the class that `assembly` names, `zoo.models.transformer.Transformer` by default. Only the blueprint says
    which: ask `isinstance(model, DecoderOnly)`, or `"decoder" in model.stacks`, before calling `model.decode`.

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
    return build_plan(plan, seed=seed, parts=parts, allow=allow)


def build_plan(
    plan: Plan,
    *,
    seed: int | None = None,
    parts: Mapping[str, Factory] | None = None,
    allow: Collection[str] = (),
) -> Model:
    """The model of a plan whose rules are checked: what `build` does after that. Arguments and errors as there."""
    made = Parts(plan, parts or NONE)
    seed = int(torch.randint(2**62, ())) if seed is None else seed
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = made.model()
        torch.manual_seed(seed)
        tied = plan["embedding"].capabilities["tied"]
        initialise(model, made.make("init"), skip=("head.weight", "head.inner.weight") if tied else ())
        for stack in model.stacks:
            layers: Any = model.get_submodule(f"{stack}.layers")
            for layer in layers:
                scale_branches(layer, getattr(layer.norm, "gain", 1.0))
    if plan.has("decoder") and plan["masking"].variant.is_file and "causal-mask" not in allow:
        _check_hides_later(model.masking, plan["masking"].name)
    model.register_state_dict_post_hook(share_tied_values)  # type: ignore[no-untyped-call]
    return model


def share_tied_values(model: nn.Module, state: dict[str, Any], prefix: str, _meta: object) -> None:
    """Let all names of one parameter have the same tensor in a state dict, not only equal ones of the same storage.

    `torch.func.functional_call` takes a tied parameter under several names only so.
    """
    first: dict[int, Any] = {}
    for name, parameter in model.named_parameters(prefix.rstrip("."), remove_duplicate=False):
        if name in state:
            state[name] = first.setdefault(id(parameter), state[name])


def _check_hides_later(masking: Masking, name: str) -> None:
    """Raises CombinationError where a user's own mask shows a decoder the tokens that it is to predict."""
    tokens = torch.full((1, 3), masking.pad + 1)
    keep = masking.tgt(tokens, 3)  # broadcasts to [1, H, 3, 3]
    with suppress(RuntimeError):  # of another shape: the first forward pass says so
        if keep is None or bool((keep & torch.ones(3, 3, dtype=torch.bool).triu(1)).any()):
            raise CombinationError(
                f"masking={name}: its tgt() lets a position see later ones, so the decoder would see the tokens that "
                "it is to predict, and learn to copy them. Expected True only where key <= query, as torch.tril gives. "
                "Use masking=full, or assembly=encoder, which has no decoder. (rule causal-mask)"
            )


def build_loss(blueprint: Blueprint, registry: Registry | None = None) -> SequenceLoss:
    """The loss that a blueprint names; it takes what the head gives, and labels."""
    return _factory(plan_part("loss", blueprint["loss"], registry))(blueprint.sizes.pad)  # type: ignore[no-any-return]


def build_schedule(
    blueprint: Blueprint, steps: int, warmup: int, registry: Registry | None = None
) -> Schedule:
    """The schedule that a blueprint names, for a training of so many steps."""
    return _factory(plan_part("schedule", blueprint["schedule"], registry))(steps, warmup)  # type: ignore[no-any-return]


def build_optimizer(
    blueprint: Blueprint, model: nn.Module, recipe: Recipe, registry: Registry | None = None
) -> torch.optim.Optimizer:
    """The optimizer that a blueprint names, for all parameters of `model`, with the numbers of `recipe`.

    Raises:
        CombinationError: this torch does not have it.
    """
    part = plan_part("optimizer", blueprint["optimizer"], registry)
    numbers = {**asdict(recipe), "beta1": recipe.betas[0], "beta2": recipe.betas[1]}
    needs: dict[str, Any] = {n: numbers[n] for n in part.capabilities["recipe"] if n not in part.options}
    if part.capabilities["matrices"]:
        needs["matrices"] = matrices(model)
    return _factory(part)(list(model.parameters()), recipe.lr, **needs)  # type: ignore[no-any-return]


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
            raise CombinationError(f"{variant.axis}={variant.name}: {message_of(error)}") from error
        except TypeError as error:
            if variant.origin in DEFAULT_PLUGINS:
                raise
            what = f"{variant.axis}={variant.name}, of plugin '{variant.origin}', cannot be constructed"
            raise PluginError(f"{what}: {missing_methods(cls) or message_of(error)}.") from error

    return make


class Parts:
    """The parts of one model, made as its assembly asks for them."""

    def __init__(self, plan: Plan, replaced: Mapping[str, Factory] = NONE) -> None:
        """`replaced` are factories that stand in for the chosen variants, by axis."""
        self.plan, self.sizes, self.replaced = plan, plan.sizes, replaced.keys()
        self.factories: dict[str, list[Factory]] = {}
        for axis in plan.parts:
            made: dict[int, Factory] = {}
            for part in plan.pattern(axis):
                made[id(part)] = made.get(id(part)) or _factory(part)
            self.factories[axis] = [made[id(part)] for part in plan.pattern(axis)]
        self.factories |= {axis: [factory] for axis, factory in replaced.items()}
        self.mask_form: MaskForm = self.make("mask")
        self.cacheable = plan.cacheable and not self.replaced
        self.packable = plan.packable and not self.replaced

    def make(self, axis: str, *args: Any, causal: bool = False, layer: int = 0) -> Any:
        """A part of the chosen kind, with what it needs to know beyond what the axis hands to all.

        `layer`, counted from 0, is the one that it is for, where layers differ.
        """
        plan, factories = self.plan.layer(layer), self.factories[axis]
        known = {**asdict(self.sizes), "causal": causal, "head_dim": plan.head_dim}
        for stack in ("encoder", "decoder"):
            known[f"num_{stack}_layers"] *= self.plan.has(stack)
        needs = () if axis in self.replaced else plan[axis].capabilities.get("needs", ())
        return factories[layer % len(factories)](*args, **{name: known[name] for name in needs})

    def model(self) -> Model:
        """The whole, with what weights its parts drew."""
        return self.make("assembly", self)  # type: ignore[no-any-return]

    def embeddings(self, side: str = "") -> Embeddings:
        """The embeddings of both sides, or of `side` alone: "src" or "tgt"."""
        sizes = self.sizes
        vocabularies = {"src": sizes.src_vocab, "tgt": sizes.tgt_vocab}
        alone = side == "tgt" or (side == "src" and not self.plan["embedding"].capabilities["tied"])
        if alone:
            vocabularies = dict.fromkeys(vocabularies, vocabularies[side])
        made = self.make("embedding", *vocabularies.values(), sizes.d_model)
        if alone:
            keep_only(made, side)
        return made  # type: ignore[no-any-return]

    def positions(self, causal: bool = False) -> nn.Module:
        """The positional encoding of one stack; `causal` is that of the decoder."""
        sizes, which = self.sizes, self.encodings("decoder" if causal else "encoder")
        kinds = [
            self.make("encoding", sizes.d_model, sizes.max_len, causal=causal, layer=which.index(number))
            for number in range(max(which) + 1)
        ]
        return kinds[0] if len(kinds) == 1 else LayerPositions(kinds, which, sizes.max_len)

    def encodings(self, stack: str) -> list[int]:
        """Return which encoding each layer of a stack has, as a number from 0; equal numbers are one encoding."""
        plans = [self.plan.layer(number) for number in range(self.plan.num_layers[stack])]
        if "encoding" in self.replaced:
            return [0] * len(plans)
        keys = [
            (id(plan["encoding"]), plan.head_dim * ("head_dim" in plan["encoding"].capabilities["needs"]))
            for plan in plans
        ]
        return [list(dict.fromkeys(keys)).index(key) for key in keys]

    def differ(self, stack: str) -> bool:
        """Return whether layers of a stack differ in their encoding."""
        return max(self.encodings(stack)) > 0

    def masking(self) -> Masking:
        """Return which positions are hidden."""
        return self.make("masking", self.sizes.pad)  # type: ignore[no-any-return]

    def head(self, embeddings: Embeddings) -> nn.Module:
        """Hidden vectors [B, L, D] -> scores [B, L, V]; of tied embeddings, it takes the table for its weight."""
        head: nn.Module = self.make("head", self.sizes.d_model, self.sizes.tgt_vocab)
        if self.plan["embedding"].capabilities["tied"]:
            table: Any = embeddings.tgt_table
            getattr(head, "inner", head).weight = table.weight  # inside a user's own part
        return head

    def encoder(self) -> Encoder:
        """A stack that sees all positions."""
        layers = [self.encoder_layer(number) for number in range(self.sizes.num_encoder_layers)]
        kind = PerLayerEncoder if self.differ("encoder") else Encoder
        return kind(layers, self.final_norm(), self.adapter("self"))

    def decoder(self) -> Decoder:
        """A stack with cross-attention, under a causal mask."""
        layers = [self.decoder_layer(number) for number in range(self.sizes.num_decoder_layers)]
        adapters = self.adapter("self"), self.adapter("cross")
        kind = PerLayerDecoder if self.differ("decoder") else Decoder
        return kind(layers, self.final_norm(), *adapters)

    def causal_decoder(self) -> CausalDecoder:
        """A stack without cross-attention, under a causal mask."""
        layers = [self.encoder_layer(number) for number in range(self.sizes.num_decoder_layers)]
        kind = PerLayerCausalDecoder if self.differ("decoder") else CausalDecoder
        return kind(layers, self.final_norm(), self.adapter("self"))

    def adapter(self, role: str) -> MaskAdapter:
        """From the form in which masks travel to the one that the "self" or "cross" attentions get."""
        form = self.plan.mask_form(role)
        assert form is not None  # rule mask-form
        return MaskAdapter(self.mask_form, cast(MaskForm, form.load()()))

    def encoder_layer(self, number: int) -> EncoderLayer:
        """Self-attention, feed-forward. Layers are counted from 0."""
        return EncoderLayer(self.attention(number), self.feed_forward(number), self.placement(2))

    def decoder_layer(self, number: int) -> DecoderLayer:
        """Self-attention, cross-attention, feed-forward."""
        cross = self.cross_attention(number)
        return DecoderLayer(self.attention(number), cross, self.feed_forward(number), self.placement(3))

    def attention(self, number: int) -> nn.Module:
        """The self-attention of one layer."""
        sizes = self.sizes
        return self.make("attention", sizes.d_model, sizes.num_heads, sizes.dropout, layer=number)  # type: ignore[no-any-return]

    def cross_attention(self, number: int) -> nn.Module:
        """The cross-attention of one layer."""
        plan, sizes = self.plan.layer(number), self.sizes
        if plan.cross is plan["attention"]:
            return self.attention(number)
        return _factory(plan.cross)(sizes.d_model, sizes.num_heads, sizes.dropout)  # type: ignore[no-any-return]

    def feed_forward(self, number: int) -> nn.Module:
        """The feed-forward network of one layer."""
        sizes = self.sizes
        return self.make("feedforward", sizes.d_model, sizes.d_ff, sizes.dropout, layer=number)  # type: ignore[no-any-return]

    def placement(self, num_sublayers: int) -> nn.Module:
        """The residual blocks of one layer."""
        return self.make("norm", self.norm, num_sublayers, self.sizes.dropout)  # type: ignore[no-any-return]

    def norm(self) -> nn.Module:
        """A norm."""
        return self.make("norm-type", self.sizes.d_model)  # type: ignore[no-any-return]

    def final_norm(self) -> nn.Module:
        """The norm behind the last layer of a stack, or nothing."""
        return self.norm() if self.plan["norm"].capabilities["final_norm"] else nn.Identity()


def parameters_by_block(model: Model) -> dict[str, int]:
    """Trainable parameters by block of the model, in the order of data flow; shared ones count once."""
    blocks: dict[str, list[nn.Module]] = {
        "embeddings": [model.embeddings],
        "positions": [part for name, part in model.named_children() if name.endswith("_positions")],
    }
    for name in model.stacks:
        stack: Any = model.get_submodule(name)
        blocks |= {f"{name} layer {i}": [layer] for i, layer in enumerate(stack.layers, 1)}
        blocks[f"{name} final norm"] = [stack.final_norm]
    blocks["head"] = [model.head]
    seen: set[int] = set()
    counts: dict[str, int] = {}
    for name, modules in blocks.items():
        parameters = {id(p): p for module in modules for p in module.parameters() if id(p) not in seen}
        seen |= parameters.keys()
        counts[name] = sum(p.numel() for p in parameters.values())
    return {name: count for name, count in counts.items() if count}
