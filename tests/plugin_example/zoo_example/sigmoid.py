"""Attention with a sigmoid in place of the softmax."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo.parts.attention.base import WeightedAttention


class SigmoidAttention(WeightedAttention):
    """sigmoid(Q K^T / sqrt(d) - log n) V, where n is how many keys a query may attend to.

    Ramapuram et al. 2024, arXiv:2409.04431. Every key is weighed by itself: the weights of a row need not
    sum to 1. The term -log n keeps their sum near 1 at first, whatever the length. Here n counts the keys
    that the mask leaves open, so that padding changes nothing and cached decoding is exact.
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and weights [B, H, Tq, Tk]."""
        scores = q @ k.transpose(-2, -1) * self.head_width**-0.5  # [B, H, Tq, Tk]
        if mask is None:
            weights = torch.sigmoid(scores - math.log(k.size(-2)))
        else:
            keep = mask if mask.dtype == torch.bool else mask != float("-inf")
            if mask.dtype != torch.bool:
                scores = scores + mask.masked_fill(~keep, 0.0)
            keep = keep.expand(*keep.shape[:-1], k.size(-2))  # [.., Tq, 1 or Tk] -> [.., Tq, Tk]
            count = keep.sum(-1, keepdim=True).clamp(min=1)  # [.., Tq, 1]
            weights = torch.sigmoid(scores - count.to(scores.dtype).log()).masked_fill(~keep, 0.0)
        return self.dropout(weights) @ v, weights
