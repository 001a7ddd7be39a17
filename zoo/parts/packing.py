"""Batches without their padding: real positions only, one after the other."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from zoo.parts.values import readable

WORTH = 1 / 8
"""Share of padding from which leaving it out saves more than moving the rest costs."""


class Layout:
    """Where the real positions of a padded batch stand.

    A padded batch is [B, T, D], a packed one [1, N, D] with its N real positions in order. Everything but
    the attention treats each position by itself, and need not know which it is given.
    """

    def __init__(self, real: Tensor) -> None:
        """`real` [B, T] is True where a position is no padding; somewhere it is."""
        self.real, (self.batch, self.length) = real, real.shape
        flat = real.flatten()  # [B, T] -> [B * T]
        self.indices = flat.nonzero()[:, 0]  # [N], into [B * T]
        self.places = (flat.cumsum(0) - 1).clamp_(min=0)  # [B * T], into [N]; padding gets a neighbour's

    def pack(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [1, N, D]."""
        rows: Tensor = x.flatten(0, 1).index_select(0, self.indices)  # [B, T, D] -> [N, D]
        return rows[None]

    def unpack(self, x: Tensor) -> Tensor:
        """[1, N, D] -> [B, T, D], 0 at padding."""
        padded: Tensor = x[0].index_select(0, self.places)  # [1, N, D] -> [B * T, D]
        padded = padded.unflatten(0, (self.batch, self.length))  # [B * T, D] -> [B, T, D]
        return padded.masked_fill(~self.real[..., None], 0.0)

    def heads(self, x: Tensor) -> Tensor:
        """[1, H, N, d] -> [B, H, T, d]; at padding stands what a mask must hide."""
        rows = x[0].transpose(0, 1).index_select(0, self.places)  # [1, H, N, d] -> [B * T, H, d]
        padded: Tensor = rows.unflatten(0, (self.batch, self.length))  # [B * T, H, d] -> [B, T, H, d]
        return padded.transpose(1, 2)  # [B, H, T, d]


def layout_of(real: Tensor | None) -> Layout | None:
    """The layout of a batch whose real positions are `real` [B, T]; None where it is better left padded.

    Looked for on the CPU alone (elsewhere looking would wait for the device), and not while a model is
    being compiled or exported, whose shapes must not depend on data, nor within `torch.vmap`.
    """
    if real is None or real.device.type != "cpu" or not readable(real):
        return None
    kept = int(real.sum())
    return Layout(real) if 0 < kept <= (1 - WORTH) * real.numel() else None


class Packing(NamedTuple):
    """The layouts of queries and of keys; None for those that are padded as usual."""

    queries: Layout | None
    keys: Layout | None
