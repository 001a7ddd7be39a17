"""Scaled dot-product attention, written out."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.attention.base import WeightedAttention, masked_softmax


class EagerAttention(WeightedAttention):
    """softmax(Q K^T / sqrt(d)) V, step by step: the oracle that all exact variants are held against.

    Vaswani et al. 2017, section 3.2.1, equation 1.
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and weights [B, H, Tq, Tk]."""
        scores = q @ k.transpose(-2, -1) * self.head_width**-0.5  # [B, H, Tq, Tk]
        weights = masked_softmax(scores, mask)
        return self.dropout(weights) @ v, weights
