"""Attention with a large negative number at masked places, as many tutorials write it."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo.parts.attention.base import WeightedAttention


class FilledAttention(WeightedAttention):
    """softmax(scores, with `fill` at masked places) V; scores = Q K^T / sqrt(d).

    The same as `eager`, but for a fully masked row: all its scores are alike then, so that it attends
    evenly to everything, also to padding and to the future (or to as much of it as there is: with cached
    keys, none). The Annotated Transformer (Rush 2018) and what came after it fill with -1e9.
    """

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True, fill: float = -1e9
    ) -> None:
        """
        Args:
            fill: score of masked positions; the lowest number of the dtype where that is higher.

        Other arguments as in `zoo.parts.attention.base.MultiHeadAttention`.

        Raises:
            ValueError: H does not divide D, or fill is not a negative number.
        """
        super().__init__(d_model, num_heads, dropout, bias)
        if not (math.isfinite(fill) and fill < 0):
            raise ValueError(f"fill={fill}: expected a negative number, such as -1e9.")
        self.fill = fill

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and weights [B, H, Tq, Tk]."""
        scores = q @ k.transpose(-2, -1) * self.head_width**-0.5  # [B, H, Tq, Tk]
        if mask is not None:
            keep = mask if mask.dtype == torch.bool else mask != float("-inf")
            if mask.dtype != torch.bool:
                scores = scores + mask
            scores = scores.masked_fill(~keep, max(self.fill, torch.finfo(scores.dtype).min))
        weights = scores.softmax(dim=-1)
        return self.dropout(weights) @ v, weights
