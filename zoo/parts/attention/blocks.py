"""Blocks of a mask."""

from __future__ import annotations

import torch
from torch import Tensor


def block_of(mask: Tensor | None, queries: slice, keys: slice) -> Tensor | None:
    """The part of a mask for these queries and keys; a dimension of size 1 stands for all of them."""
    if mask is None:
        return None
    mask = mask[(None,) * (4 - mask.dim())]  # [.., Tq, Tk] -> [B, H, Tq, Tk], each 1 or whole
    if mask.size(-2) > 1:
        mask = mask[..., queries, :]
    return mask[..., keys] if mask.size(-1) > 1 else mask


def restricted(mask: Tensor | None, keep: Tensor) -> Tensor:
    """A mask (bool, True = may be attended to, or additive) that allows no more than `keep` (bool) does."""
    if mask is None:
        return keep
    return mask & keep if mask.dtype == torch.bool else mask.masked_fill(~keep, float("-inf"))
