"""Attention by torch's fused kernel."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.attention.base import MultiHeadAttention
from zoo.parts.attention.kernel import fused_heads


class FusedAttention(MultiHeadAttention):
    """softmax(Q K^T / sqrt(d)) V in one kernel that never forms the weights.

    `F.scaled_dot_product_attention`; FlashAttention, Dao et al. 2022, arXiv:2205.14135. With dropout on
    the CPU, for which torch has no such kernel, it forms the weights.
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        """heads [B, H, Tq, d]."""
        return fused_heads(q, k, v, mask, self.dropout), None
