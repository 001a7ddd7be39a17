"""Query heads that share heads of keys and values."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.attention.grouped import GroupedAttention
from zoo.parts.attention.kernel import fused_heads, written_out


class GroupedQueryAttention(GroupedAttention):
    """head_h = softmax(Q_h K_g^T / sqrt(d)) V_g with g = floor(h Hk / H), for Hk heads of keys and values.

    With Hk = H it is multi-head attention, with Hk = 1 multi-query attention. Ainslie et al. 2023,
    section 2.2, arXiv:2305.13245.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        qk_norm: bool = False,
    ) -> None:
        """
        Args:
            num_kv_heads: number of key and value heads Hk; divides H; its largest divisor up to H / 4 if None.

        Other arguments and errors as in `zoo.parts.attention.grouped.GroupedAttention`.
        """
        shared = quarter(num_heads) if num_kv_heads is None else num_kv_heads
        super().__init__(d_model, num_heads, dropout, bias, shared, head_dim, qk_norm)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        """heads [B, H, Tq, d], of q [B, H, Tq, d] and k, v [B, Hk, Tk, d]."""
        return fused_heads(q, k, v, mask, self.dropout, grouped=True), None

    def attend_shown(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same step by step, keys and values repeated: heads, and weights [B, H, Tq, Tk]."""
        return written_out(q, k, v, mask, self.dropout)


def quarter(num_heads: int) -> int:
    """The largest divisor of H that is at most H / 4; at least 1."""
    return max((n for n in range(1, num_heads // 4 + 1) if num_heads % n == 0), default=1)
