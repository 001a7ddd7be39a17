"""torch's parts: what they are, read from them, and built."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from zoo.core.errors import ZooError
from zoo.models.interop.specs import (
    AttentionSpec,
    FeedForwardSpec,
    LayerSpec,
    NormSpec,
    Spec,
    StackSpec,
    StacksSpec,
)

LAYERS = (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
STACKS = (nn.TransformerEncoder, nn.TransformerDecoder)
PARTS = (nn.MultiheadAttention, *LAYERS, *STACKS, nn.Transformer)
ACTIVATIONS: dict[str, Any] = {"relu": F.relu, "gelu": F.gelu}


def read(module: nn.Module) -> Spec:
    """Return what one of the `PARTS` computes, apart from its weights.

    Raises:
        ZooError: it is none of them, or has something to which the zoo has no counterpart.
    """
    kind = type(module)  # a derived class may compute something else
    if kind is nn.MultiheadAttention:
        return _attention(module)
    if kind in LAYERS:
        return _layer(module)
    if kind in STACKS:
        return _stack(module)
    if kind is nn.Transformer:
        for side, expected in zip((module.encoder, module.decoder), STACKS, strict=True):
            _expect(side, expected, "in this nn.Transformer")
        return StacksSpec(_stack(module.encoder), _stack(module.decoder))
    names = ", ".join(f"nn.{part.__name__}" for part in PARTS)
    raise ZooError(f"{kind.__name__} has no counterpart that is known: expected one of {names}.")


def _expect(module: object, kind: type, where: str) -> None:
    if type(module) is not kind:
        raise ZooError(f"Expected nn.{kind.__name__} {where}, got {type(module).__name__}.")


def _attention(module: Any) -> AttentionSpec:
    _expect(module, nn.MultiheadAttention, "as the attention")
    reasons = {
        "keys or values of another width (kdim, vdim)": not module._qkv_same_embed_dim,
        "a learned key and value beside the given ones (add_bias_kv)": module.bias_k is not None,
        "a key and value of zeros beside the given ones (add_zero_attn)": module.add_zero_attn,
    }
    for what, there in reasons.items():
        if there:
            raise ZooError(
                f"This nn.MultiheadAttention has {what}; the zoo's attentions do not support that."
            )
    return AttentionSpec(
        module.embed_dim, module.num_heads, float(module.dropout), module.in_proj_bias is not None
    )


def _norm(module: Any) -> NormSpec:
    if type(module) is not nn.LayerNorm or len(module.normalized_shape) != 1:
        raise ZooError(f"Expected nn.LayerNorm over the last dimension as a norm, got {module}.")
    return NormSpec(
        module.normalized_shape[0], module.eps, module.weight is not None, module.bias is not None
    )


def _activation(function: Any) -> str:
    exact_gelu = isinstance(function, nn.GELU) and function.approximate == "none"
    if function in (F.relu, torch.relu) or isinstance(function, nn.ReLU):
        return "relu"
    if function is F.gelu or exact_gelu:
        return "gelu"
    shown = function if isinstance(function, nn.Module) else getattr(function, "__name__", function)
    raise ZooError(f"The activation {shown} cannot be taken over: expected relu or (exact) gelu.")


def _layer(module: Any) -> LayerSpec:
    decoder = isinstance(module, nn.TransformerDecoderLayer)
    norms = [module.norm1, module.norm2, *([module.norm3] if decoder else [])]
    dropouts = {one.p for one in (module.dropout1, module.dropout2, *([module.dropout3] if decoder else []))}
    if len(dropouts) > 1:
        raise ZooError(
            f"The sublayers of this nn.{type(module).__name__} have different dropouts "
            f"({', '.join(map(str, sorted(dropouts)))}); a layer of the zoo has one for all. Make them equal."
        )
    feed_forward = FeedForwardSpec(
        module.linear1.in_features,
        module.linear1.out_features,
        _activation(module.activation),
        module.dropout.p,
        (module.linear1.bias is not None, module.linear2.bias is not None),
    )
    attentions = (module.self_attn, *([module.multihead_attn] if decoder else []))
    return LayerSpec(
        tuple(map(_attention, attentions)),
        feed_forward,
        "pre" if module.norm_first else "post",
        tuple(map(_norm, norms)),
        dropouts.pop(),
    )


def _stack(module: Any) -> StackSpec:
    kind = LAYERS[STACKS.index(type(module))]
    if not len(module.layers):
        raise ZooError(f"This nn.{type(module).__name__} has no layers; a stack of the zoo has at least one.")
    for layer in module.layers:
        _expect(layer, kind, f"in this nn.{type(module).__name__}")
    return StackSpec(tuple(map(_layer, module.layers)), None if module.norm is None else _norm(module.norm))


def make(spec: Spec) -> nn.Module:
    """The part of torch that `spec` describes, batch first, with what weights torch draws."""
    if isinstance(spec, AttentionSpec):
        return _made_attention(spec)
    if isinstance(spec, LayerSpec):
        return _made_layer(spec)
    if isinstance(spec, StackSpec):
        return _made_stack(spec)
    first = spec.encoder.layers[0].attentions[0]
    return nn.Transformer(
        first.d_model,
        first.num_heads,
        custom_encoder=_made_stack(spec.encoder),
        custom_decoder=_made_stack(spec.decoder),
        batch_first=True,
    )


def _made_attention(spec: AttentionSpec) -> nn.MultiheadAttention:
    return nn.MultiheadAttention(spec.d_model, spec.num_heads, spec.dropout, bias=spec.bias, batch_first=True)


def _made_norm(spec: NormSpec) -> nn.LayerNorm:
    return nn.LayerNorm(spec.d_model, spec.eps, elementwise_affine=spec.weight, bias=spec.bias)


def _made_layer(spec: LayerSpec) -> nn.Module:
    feed_forward, first = spec.feed_forward, spec.attentions[0]
    kind = LAYERS[len(spec.attentions) - 1]
    layer: Any = kind(
        first.d_model,
        first.num_heads,
        feed_forward.d_ff,
        spec.dropout,
        ACTIVATIONS[feed_forward.activation],
        batch_first=True,
        norm_first=spec.norm == "pre",
    )
    for name, attention in zip(("self_attn", "multihead_attn"), spec.attentions, strict=False):
        setattr(layer, name, _made_attention(attention))
    for number, norm in enumerate(spec.norms, 1):
        setattr(layer, f"norm{number}", _made_norm(norm))
    for linear, bias in zip((layer.linear1, layer.linear2), feed_forward.biases, strict=True):
        if not bias:
            linear.register_parameter("bias", None)
    layer.dropout.p = feed_forward.dropout
    return layer  # type: ignore[no-any-return]


def _made_stack(spec: StackSpec) -> nn.Module:
    layers = [_made_layer(layer) for layer in spec.layers]
    norm = None if spec.final_norm is None else _made_norm(spec.final_norm)
    stack: Any
    if isinstance(layers[0], nn.TransformerDecoderLayer):
        stack = nn.TransformerDecoder(layers[0], 1, norm)
    else:  # without the shortcut for padding, which gives 0 at padded positions, in eval mode only
        stack = nn.TransformerEncoder(layers[0], 1, norm, enable_nested_tensor=False)  # type: ignore[arg-type]
    stack.layers, stack.num_layers = nn.ModuleList(layers), len(layers)
    return stack  # type: ignore[no-any-return]
