"""Scaled dot-product attention in Einstein's notation."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.attention.base import WeightedAttention, masked_softmax


class EinsumAttention(WeightedAttention):
    """scores[b,h,q,k] = sum_d Q[b,h,q,d] K[b,h,k,d] / sqrt(d);  heads[b,h,q,d] = sum_k A[b,h,q,k] V[b,h,k,d]

    Which axis is summed over can be read off the letters; nothing is transposed.
    Vaswani et al. 2017, section 3.2.1.
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and weights [B, H, Tq, Tk]."""
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * self.head_width**-0.5
        weights = masked_softmax(scores, mask)
        return torch.einsum("bhqk,bhkd->bhqd", self.dropout(weights), v), weights
