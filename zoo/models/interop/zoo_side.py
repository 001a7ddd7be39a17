"""The zoo's parts: what they are, read from them, and built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from zoo.core.errors import ZooError
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.models.interop.specs import (
    AttentionSpec,
    FeedForwardSpec,
    LayerSpec,
    NormSpec,
    Spec,
    StackSpec,
    StacksSpec,
)
from zoo.models.interop.stacks import Stacks
from zoo.models.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer
from zoo.parts.feedforward.base import FeedForward
from zoo.parts.feedforward.gelu import GeluFeedForward
from zoo.parts.feedforward.relu import ReluFeedForward
from zoo.parts.mask.adapter import MaskAdapter
from zoo.parts.norm.post import PostNorm
from zoo.parts.norm.pre import PreNorm
from zoo.parts.norm_type.layernorm import LayerNorm
from zoo.parts.norm_type.torch_layernorm import TorchLayerNorm

FEED_FORWARDS: dict[str, Callable[..., FeedForward]] = {"relu": ReluFeedForward, "gelu": GeluFeedForward}
NORMS = {"torch-layernorm": TorchLayerNorm, "layernorm": LayerNorm}
PLACEMENTS = {"pre": PreNorm, "post": PostNorm}


def exact_attention(text: str) -> tuple[Variant, dict[str, object]]:
    """The exact attention that a user names, and its options. Raises ZooError for any other."""
    variant, options = get_registry().resolve("attention", text)
    if not variant.capabilities["exact"]:
        raise ZooError(
            f"attention={variant.name} does not compute what nn.MultiheadAttention does with the same weights. "
            f"Take one of {', '.join(one.name for one in _exact())}."
        )
    return variant, options


def _exact() -> list[Variant]:
    return [one for one in get_registry().variants("attention") if one.capabilities["exact"]]


def _kind_of(part: object, kinds: dict[str, Any], what: str) -> str:
    for name, kind in kinds.items():
        if type(part) is kind:
            return name
    raise ZooError(
        f"torch's parts have no counterpart to {type(part).__name__} as the {what}: expected {' or '.join(kinds)}."
    )


def read(part: nn.Module) -> Spec:
    """Return what a part of the zoo computes, apart from its weights.

    Raises:
        ZooError: torch has no counterpart to it, or to something in it.
    """
    if isinstance(part, (EncoderLayer, DecoderLayer)):
        return _layer(part)
    if isinstance(part, (Encoder, Decoder)):
        return _stack(part)
    if isinstance(part, Stacks):
        return StacksSpec(_stack(part.encoder), _stack(part.decoder))
    return _attention(part)


def _attention(part: Any) -> AttentionSpec:
    _kind_of(part, {one.name: one.load() for one in _exact()}, "attention")
    state, dropout = part.state_dict(), part.dropout
    p = dropout.p if isinstance(dropout, nn.Dropout) else dropout
    return AttentionSpec(state["out_proj.weight"].size(0), part.num_heads, float(p), "q_proj.bias" in state)


def _norm(part: Any) -> NormSpec:
    _kind_of(part, NORMS, "norm")
    width = part.normalized_shape[0] if type(part) is TorchLayerNorm else part.weight.size(0)
    return NormSpec(width, part.eps, part.weight is not None, part.bias is not None)


def _layer(part: Any) -> LayerSpec:
    attentions = [part.self_attention, *([part.cross_attention] if isinstance(part, DecoderLayer) else [])]
    network = part.feed_forward
    if getattr(network, "approximate", "none") != "none":
        raise ZooError("torch's parts have no counterpart to an approximated GELU: expected tanh=false.")
    feed_forward = FeedForwardSpec(
        activation=_kind_of(network, FEED_FORWARDS, "feed-forward network"),
        d_model=network.up_proj.in_features,
        d_ff=network.up_proj.out_features,
        dropout=network.dropout.p,
        biases=(network.up_proj.bias is not None, network.down_proj.bias is not None),
    )
    return LayerSpec(
        tuple(map(_attention, attentions)),
        feed_forward,
        _kind_of(part.norm, PLACEMENTS, "placement of the norms"),
        tuple(map(_norm, part.norm.norms)),
        part.norm.dropout.p,
    )


def _stack(part: Any) -> StackSpec:
    final = None if type(part.final_norm) is nn.Identity else _norm(part.final_norm)
    return StackSpec(tuple(map(_layer, part.layers)), final)


def make(spec: Spec, attention: str) -> nn.Module:
    """The part of the zoo that `spec` describes, with one of the exact attentions, and what weights it draws.

    Raises:
        ZooError: the attention is not exact, or cannot do without biases.
    """
    maker = _Maker(attention)
    if isinstance(spec, AttentionSpec):
        return maker.attention(spec)
    if isinstance(spec, LayerSpec):
        return maker.layer(spec)
    if isinstance(spec, StackSpec):
        stack: nn.Module = maker.stack(spec)
        return stack
    return Stacks(maker.stack(spec.encoder), maker.stack(spec.decoder))


class _Maker:
    """Makes parts with one attention throughout."""

    def __init__(self, attention: str) -> None:
        self.variant, self.options = exact_attention(attention)

    def attention(self, spec: AttentionSpec) -> nn.Module:
        known = {option.name for option in self.variant.options}
        if "bias" in known:
            options = {**self.options, "bias": spec.bias}
        elif spec.bias:
            options = self.options
        else:
            raise ZooError(
                f"attention={self.variant.name} has biases, and this nn.MultiheadAttention has none."
            )
        options = {name: value for name, value in options.items() if name != "dropout"}
        made: nn.Module = self.variant.load()(spec.d_model, spec.num_heads, spec.dropout, **options)
        return made

    def layer(self, spec: LayerSpec) -> EncoderLayer | DecoderLayer:
        norms = iter([_made_norm(norm) for norm in spec.norms])
        placement = PLACEMENTS[spec.norm](lambda: next(norms), len(spec.norms), spec.dropout)
        feed_forward, attentions = _made_feed_forward(spec.feed_forward), map(self.attention, spec.attentions)
        kind: Callable[..., Any] = EncoderLayer if len(spec.attentions) == 1 else DecoderLayer
        return kind(*attentions, feed_forward, placement)  # type: ignore[no-any-return]

    def stack(self, spec: StackSpec) -> Any:  # an Encoder or a Decoder
        layers: list[Any] = [self.layer(layer) for layer in spec.layers]
        final_norm = nn.Identity() if spec.final_norm is None else _made_norm(spec.final_norm)
        kind: Callable[..., Any] = Encoder if isinstance(layers[0], EncoderLayer) else Decoder
        return kind(layers, final_norm, self.adapter())

    def adapter(self) -> MaskAdapter:
        registry, forms = get_registry(), self.variant.capabilities["mask_forms"]
        known = {form.name: form for form in registry.variants("mask")}
        taken = "bool" if "bool" in forms else next((form for form in forms if form in known), "bool")
        return MaskAdapter(known["bool"].load()(), known[taken].load()())


def _made_norm(spec: NormSpec) -> TorchLayerNorm:
    norm = TorchLayerNorm(spec.d_model, spec.eps)
    for name, there in (("weight", spec.weight), ("bias", spec.bias)):
        if not there:
            norm.register_parameter(name, None)
    return norm


def _made_feed_forward(spec: FeedForwardSpec) -> nn.Module:
    network = FEED_FORWARDS[spec.activation](spec.d_model, spec.d_ff, spec.dropout)
    for linear, bias in zip((network.up_proj, network.down_proj), spec.biases, strict=True):
        if not bias:
            linear.register_parameter("bias", None)
    return network
