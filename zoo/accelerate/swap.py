"""Putting the tricks into a model, and taking them out again."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn.utils import parametrize

from zoo.accelerate.dropout import QuickDropout
from zoo.accelerate.padding import (
    UnpaddedAttention,
    UnpaddedDecoder,
    UnpaddedEncoder,
    UnpaddedTransformer,
    can_pack,
)
from zoo.accelerate.products import QuickLinear, pays
from zoo.accelerate.trick import Trick, plain_class, with_trick
from zoo.core.errors import ZooError
from zoo.models.transformer import Decoder, Encoder, Transformer
from zoo.parts.attention.base import MultiHeadAttention


class AccelerateError(ZooError):
    """A model that cannot be made faster, or not safely: why."""


Swaps = Iterator[tuple[nn.Module, type[Trick]]]


def accelerate(model: nn.Module, *, onednn: bool | None = None) -> nn.Module:
    """Make `model` faster on the CPU, in place, and return it.

    Its modules keep their names, weights and hooks, which see batches without padding where it is left out. So
    `state_dict` and what is saved stay as they were, and a copy or a pickle is plain. The output is the same up
    to rounding, at all that is no padding, and so are gradients; dropout draws other random numbers.

    Args:
        model: a model of the zoo, or any other; compile it afterwards, if at all. What is compiled is plain.
        onednn: whether it multiplies; by default where that pays (`zoo.accelerate.products.pays`).

    Raises:
        AccelerateError: it is compiled, scripted, on another device than the CPU, or has modules with which a
            trick would not be safe: dropout in place, weights that are recomputed at each call.
    """
    refusals = list(dict.fromkeys(_refusals(model)))
    if refusals:
        raise AccelerateError("accelerate: " + " ".join(refusals))
    for module, trick in [*_padding(model), *_modules(model, pays() if onednn is None else onednn)]:
        module.__class__ = with_trick(trick, type(module))
    return model


def restore(model: nn.Module) -> nn.Module:
    """Take all tricks out of `model`, in place, and return it: plain torch, as before `accelerate`."""
    for module in model.modules():
        module.__class__ = plain_class(module)
    return model


def tricks(model: nn.Module) -> list[str]:
    """Return what has been made faster in `model`, a sentence each; none if it is plain."""
    kinds = (UnpaddedTransformer, QuickDropout, QuickLinear)
    return [one.title for one in kinds if any(isinstance(module, one) for module in model.modules())]


def _refusals(model: nn.Module) -> Iterator[str]:
    for tensor in model.parameters():
        if tensor.device.type != "cpu":
            yield f"The tricks are for the CPU, and the model is on {tensor.device.type}."
    for name, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule) or hasattr(module, "_orig_mod"):
            yield "The model is compiled: accelerate it before, or leave that to the compiler."
        elif isinstance(module, nn.Dropout) and module.inplace:
            yield f"'{name}' drops in place (inplace=True), which overwrites what others may still need."
        elif isinstance(module, nn.Linear) and parametrize.is_parametrized(module):
            yield f"The weights of '{name}' change inside, at each call: remove the parametrization first."


def _modules(model: nn.Module, onednn: bool) -> Swaps:
    """Dropout and linear maps; classes derived from them only if they multiply as nn.Linear does."""
    for module in model.modules():
        if type(module) is nn.Dropout:
            yield module, QuickDropout
        elif onednn and type(module).forward is nn.Linear.forward:
            yield module, QuickLinear


def _padding(model: nn.Module) -> Swaps:
    """All that takes batches without padding, if every part can: the model says so, and is put together as built."""
    for inner in model.modules():
        if not isinstance(inner, Transformer) or isinstance(inner, Trick) or not inner.packable:
            continue
        attentions = [module for module in inner.modules() if isinstance(module, MultiHeadAttention)]
        stacks = type(inner), type(inner.encoder), type(inner.decoder)
        if stacks != (Transformer, Encoder, Decoder) or not all(map(can_pack, attentions)):
            continue
        yield inner, UnpaddedTransformer
        yield inner.encoder, UnpaddedEncoder
        yield inner.decoder, UnpaddedDecoder
        yield from ((module, UnpaddedAttention) for module in attentions)
