"""Tensors inside `torch.vmap`, where a function sees one row: as they are, with all rows."""

from __future__ import annotations

from torch import Tensor
from torch._C import _functorch as inside  # torch has no public way to look in, and only the record does


def whole(x: Tensor) -> Tensor:
    """Return a tensor with the rows that `torch.vmap` goes through as its first dimensions, outer ones first."""
    while inside.is_functorch_wrapped_tensor(x):
        rows = inside.maybe_get_bdim(x)
        x = inside.get_unwrapped(x)
        if rows >= 0:
            x = x.movedim(rows, 0)  # [..., rows, ...] -> [rows, ...]
    return x


def batched(value: Tensor, like: Tensor) -> Tensor:
    """Return a tensor with all rows as `torch.vmap` has it. Args: like: what it takes the place of."""
    if not inside.is_batchedtensor(like):
        return value
    rows = batched(value, inside.get_unwrapped(like))
    return inside._add_batch_dim(rows, 0, inside.maybe_get_level(like))
