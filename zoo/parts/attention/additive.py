"""Attention by a small network in place of a product."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.parts.attention.base import WeightedAttention, masked_softmax


class AdditiveAttention(WeightedAttention):
    """softmax_k(v_h . tanh(q + k)) V, with one learned vector v_h [d] a head.

    Bahdanau et al. 2015, section 3.1 and appendix A.1.2, arXiv:1409.0473: there with one head, and the
    decoder's state as the query. The sums q + k take memory for Tq * Tk * d numbers a head, d times what a
    product takes.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        """Arguments and errors as in `zoo.parts.attention.base.MultiHeadAttention`."""
        super().__init__(d_model, num_heads, dropout, bias)
        self.energy = nn.Parameter(torch.empty(num_heads, self.head_width))  # v [H, d]
        nn.init.normal_(self.energy, std=self.head_width**-0.5)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and weights [B, H, Tq, Tk]."""
        sums = q[:, :, :, None] + k[:, :, None]  # [B, H, Tq, 1, d] + [B, H, 1, Tk, d]
        scores = (sums.tanh() @ self.energy[:, None, :, None]).squeeze(-1)  # @ [H, 1, d, 1] -> [B, H, Tq, Tk]
        weights = masked_softmax(scores, mask)
        return self.dropout(weights) @ v, weights
