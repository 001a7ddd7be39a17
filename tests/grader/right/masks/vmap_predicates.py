"""Predicates of (batch, head, query, key) as in flex_attention's mask_mod, turned into tables with nested torch.vmap; combined with and_masks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

MaskMod: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def table(mod: MaskMod, b: int, q: int, k: int, device: torch.device | str | None) -> Tensor:
    axes = [torch.arange(n, device=device) for n in (b, 1, q, k)]
    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        mod = torch.vmap(mod, in_dims=dims)
    return mod(*axes)


def and_masks(*mods: MaskMod) -> MaskMod:
    def both(b, h, q, k):
        allowed = b.new_ones((), dtype=torch.bool)
        for mod in mods:
            allowed = allowed & mod(b, h, q, k)
        return allowed

    return both


def no_padding(tokens: Tensor, pad: int) -> MaskMod:
    real = tokens != pad
    return lambda b, h, q, k: real[b, k]


def no_future(b, h, q, k):
    return k <= q


def padding_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    return table(no_padding(tokens, pad), tokens.shape[0], 1, tokens.shape[1], tokens.device)


def causal_mask(size: int, device: torch.device | str | None = None) -> Tensor:
    return table(no_future, 1, size, size, device)


def decoder_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    b, t = tokens.shape
    return table(and_masks(no_future, no_padding(tokens, pad)), b, t, t, tokens.device)


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.full(mask.shape, -torch.inf, dtype=dtype, device=mask.device).masked_fill(mask, 0)
