"""Attention whose scores cannot grow beyond a cap."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.attention.base import masked_softmax
from zoo.parts.attention.grouped import GroupedAttention
from zoo.parts.attention.kernel import repeat_heads


class SoftCapAttention(GroupedAttention):
    """softmax(c tanh(Q K^T / (c sqrt(d)))) V: a score s becomes c tanh(s / c), between -c and c.

    Small scores hardly change. Mask and bias are added behind the cap. No fused kernel has it: the weights are
    formed. Gemma Team 2024 (Gemma 2), section 2, arXiv:2408.00118, with c = 50; Bello et al. 2016,
    arXiv:1611.09940.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        cap: float = 50.0,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        qk_norm: bool = False,
    ) -> None:
        """
        Args:
            cap: c, positive.

        Other arguments as in `zoo.parts.attention.grouped.GroupedAttention`.

        Raises:
            ValueError: as there, or cap is not positive.
        """
        super().__init__(d_model, num_heads, dropout, bias, num_kv_heads, head_dim, qk_norm)
        if cap <= 0:
            raise ValueError(f"cap={cap}: expected a positive number.")
        self.cap = cap

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and weights [B, H, Tq, Tk], of q [B, H, Tq, d] and k, v [B, Hk, Tk, d]."""
        k, v = repeat_heads(k, self.num_heads), repeat_heads(v, self.num_heads)
        scores = q @ k.transpose(-2, -1) * self.head_width**-0.5  # [B, H, Tq, Tk]
        weights = masked_softmax(self.cap * (scores / self.cap).tanh(), mask)
        return self.dropout(weights) @ v, weights

    attend_shown = attend
