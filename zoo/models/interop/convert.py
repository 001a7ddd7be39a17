"""Conversion between torch's Transformer parts and the zoo's, weights included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import overload

import torch
from torch import Tensor, nn

import zoo.models.interop.torch_side as torch_side
import zoo.models.interop.zoo_side as zoo_side
from zoo.core.errors import ZooError
from zoo.models.interop.names import torch_names, zoo_names
from zoo.models.interop.specs import LayerSpec, StackSpec, StacksSpec
from zoo.models.interop.stacks import Stacks
from zoo.models.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer, Transformer
from zoo.parts.encoding.base import Encoding


@overload
def from_torch(module: nn.TransformerEncoderLayer, attention: str = ...) -> EncoderLayer: ...
@overload
def from_torch(module: nn.TransformerDecoderLayer, attention: str = ...) -> DecoderLayer: ...
@overload
def from_torch(module: nn.TransformerEncoder, attention: str = ...) -> Encoder: ...
@overload
def from_torch(module: nn.TransformerDecoder, attention: str = ...) -> Decoder: ...
@overload
def from_torch(module: nn.Transformer, attention: str = ...) -> Stacks: ...
@overload
def from_torch(module: nn.Module, attention: str = ...) -> nn.Module: ...
def from_torch(module: nn.Module, attention: str = "fused") -> nn.Module:
    """The zoo's counterpart of one of torch's parts, the same function with the same weights (copied, not shared).

    | torch | zoo |
    |---|---|
    | `nn.MultiheadAttention` | the attention named |
    | `nn.TransformerEncoderLayer`, `nn.TransformerDecoderLayer` | `EncoderLayer`, `DecoderLayer` |
    | `nn.TransformerEncoder`, `nn.TransformerDecoder` | `Encoder`, `Decoder` |
    | `nn.Transformer` | `Stacks`: it has no embeddings, positions or head either |

    Norms behind the last layer are kept as they are, also the ones that a post-norm `nn.Transformer` has
    beyond the paper's; where there is none, `final_norm` is an identity. Dropouts, eps, missing biases,
    dtype, device and mode (train or eval) are kept; parameters are all trainable.

    What differs from the call of torch's part:

    - Inputs are [B, T, D] always, whatever `batch_first` says; the weights do not depend on it.
    - Masks are one argument, bool, True = may be attended to; torch's boolean masks mean True = may NOT.
      From torch's two: `~key_padding_mask[:, None, None, :] & ~attn_mask`.
    - A fully masked row attends to nothing; in torch it may be NaN.
    - An attention returns its output alone, without weights.

    Args:
        module: torch's part, of the very class: one derived from it may compute something else.
        attention: one of the exact attentions, as a user types it; its bias and dropout are `module`'s.

    Raises:
        ZooError: the zoo has no counterpart to `module` or to something in it, or the attention is not exact.
    """
    spec = torch_side.read(module)
    with torch.random.fork_rng(devices=[]):  # the weights drawn are not kept
        part = zoo_side.make(spec, attention)
    return _filled(part, zoo_names(module.state_dict()), module.training)


@overload
def to_torch(part: EncoderLayer) -> nn.TransformerEncoderLayer: ...
@overload
def to_torch(part: DecoderLayer) -> nn.TransformerDecoderLayer: ...
@overload
def to_torch(part: Encoder) -> nn.TransformerEncoder: ...
@overload
def to_torch(part: Decoder) -> nn.TransformerDecoder: ...
@overload
def to_torch(part: Stacks | Transformer) -> nn.Transformer: ...
@overload
def to_torch(part: nn.Module) -> nn.Module: ...
def to_torch(part: nn.Module) -> nn.Module:
    """torch's counterpart of a part of the zoo, the way back from `from_torch`.

    Of a whole `Transformer` it is the `nn.Transformer` in it, without embeddings, positions and head. Where
    a stack has no final norm, as in a post-norm model, its `norm` is None. The result is batch first; weights
    do not depend on it, so that `other.load_state_dict(to_torch(part).state_dict())` fills one that is not.

    Raises:
        ZooError: torch has no counterpart to `part`, or to something in it.
    """
    whole = _stacks(part) if isinstance(part, Transformer) else part
    spec = zoo_side.read(whole)
    with torch.random.fork_rng(devices=[]):
        module = torch_side.make(spec)
    return _filled(module, torch_names(whole.state_dict()), part.training)


def load_torch(model: Transformer, module: nn.Transformer) -> None:
    """Copy the weights of an `nn.Transformer` into the encoder and decoder of a model; `to_torch` goes back.

    Embeddings, positions, head and dropouts of the model stay as they are, and so do dtype and device. What the
    model has and `module` has not, a bias or the gain of a norm, becomes 0 or 1: the function is the same.

    Raises:
        ZooError: the two are different functions: other sizes, placement, activation or eps, a post-norm
            `nn.Transformer` with its final norms (a post-norm model has none), an attention that is not
            exact, an encoding that acts inside the attention. The model is unchanged.
    """
    given = torch_side.read(module)
    if not isinstance(given, StacksSpec):
        raise ZooError(f"Expected an nn.Transformer to load weights from, got nn.{type(module).__name__}.")
    stacks, state = _stacks(model), zoo_names(module.state_dict())
    expected, slots = zoo_side.read(stacks), stacks.state_dict()
    assert isinstance(expected, StacksSpec)  # since Stacks is what was read
    _check_same(expected, given)
    for name in state:
        if name not in slots:
            raise ZooError(f"This nn.Transformer does not fit the model, which has no {name} (zoo's names).")
    for name, value in slots.items():
        if name not in state:
            state[name] = torch.zeros_like(value) if name.endswith(".bias") else torch.ones_like(value)
    stacks.load_state_dict(state)


def _stacks(model: Transformer) -> Stacks:
    for encoding in (model.src_positions, model.tgt_positions):
        if isinstance(encoding, Encoding) and type(encoding).positions is not Encoding.positions:
            raise ZooError(
                f"{type(encoding).__name__} acts inside the attention, which nn.Transformer does not let it: its "
                "stacks are another function. An encoding that is added to the embedding goes with torch's."
            )
    return Stacks(model.encoder, model.decoder).train(model.training)


def _filled(part: nn.Module, state: Mapping[str, Tensor], training: bool) -> nn.Module:
    """`part` with these weights, their dtype and their device."""
    kinds = {(value.dtype, value.device) for value in state.values()}
    if len(kinds) > 1:
        shown = ", ".join(sorted(f"{dtype} on {device}" for dtype, device in kinds))
        raise ZooError(f"The weights are of several kinds ({shown}): expected one dtype on one device.")
    strange = sorted(part.state_dict().keys() ^ state.keys())
    if strange:
        raise ZooError(
            f"The weights are not those of such a part: {strange[0]}, for one. Is it parametrised, or extended?"
        )
    dtype, device = kinds.pop()
    part.to(device=device, dtype=dtype).load_state_dict(dict(state))
    return part.train(training)


def _check_same(expected: StacksSpec, got: StacksSpec) -> None:
    """Raises ZooError unless both describe the same function of the weights."""
    lines, hint = [], ""
    for side in ("encoder", "decoder"):
        ours, theirs = _facts(getattr(expected, side)), _facts(getattr(got, side))
        lines += [
            f"  {side}, {name}: expected {value}, got {theirs[name]}"
            for name, value in ours.items()
            if value != theirs[name]
        ]
        if (ours["final norm"], theirs["final norm"]) == ("none", "one"):
            hint = "\nfrom_torch keeps the final norms of a post-norm nn.Transformer; a post-norm model has none."
    if lines:
        raise ZooError("This nn.Transformer does not fit the model.\n" + "\n".join(lines) + hint)


def _facts(stack: StackSpec) -> dict[str, str]:
    """Return what a stack computes, in words."""
    final, layers = stack.final_norm, [_facts_of_layer(layer) for layer in stack.layers]
    return {
        "layers": str(len(layers)),
        **{name: _listed([layer[name] for layer in layers]) for name in layers[0]},
        "final norm": "none" if final is None else "one",
        "eps of the final norm": "none" if final is None else str(final.eps),
    }


def _facts_of_layer(layer: LayerSpec) -> dict[str, str]:
    network = layer.feed_forward
    return {
        "d_model": str(network.d_model),
        "num_heads": _listed([str(one.num_heads) for one in layer.attentions]),
        "d_ff": str(network.d_ff),
        "activation": network.activation,
        "norm": layer.norm,
        "eps": _listed([str(norm.eps) for norm in layer.norms]),
    }


def _listed(values: list[str]) -> str:
    """The one value that all are, or all of them in order."""
    return values[0] if len(set(values)) == 1 else ", ".join(values)
