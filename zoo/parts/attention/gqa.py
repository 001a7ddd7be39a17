"""Several query heads share one head of keys and values."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.parts.attention.base import check_heads
from zoo.parts.attention.kernel import fused_heads, written_out
from zoo.parts.attention.shown import ShownAttention


class GroupedQueryAttention(ShownAttention):
    """head_h = softmax(Q_h K_g^T / sqrt(d)) V_g with g = floor(h Hk / H), for Hk heads of keys and values.

    Heads h of the queries stand in Hk groups of H / Hk neighbours, and each group shares one head of keys
    and values: k_proj and v_proj are [Hk d, D], and a cache holds H / Hk times less. With Hk = H it is
    multi-head attention, with Hk = 1 multi-query attention. Ainslie et al. 2023, section 2.2,
    arXiv:2305.13245.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        num_kv_heads: int | None = None,
    ) -> None:
        """
        Args:
            num_kv_heads: number of key and value heads Hk; divides H. Without it, the largest divisor of
                H that is at most H / 4 (at least 1): 2 for 8 heads, 1 for fewer than 8.

        Other arguments as in `zoo.parts.attention.base.MultiHeadAttention`.

        Raises:
            ValueError: H does not divide D, or Hk does not divide H.
        """
        check_heads(d_model, num_heads)
        self.num_kv_heads = quarter(num_heads) if num_kv_heads is None else num_kv_heads
        if self.num_kv_heads < 1 or num_heads % self.num_kv_heads:
            raise ValueError(f"num_heads={num_heads} is not divisible by num_kv_heads={num_kv_heads}.")
        super().__init__(d_model, num_heads, dropout, bias)

    def make_projections(self, d_model: int, bias: bool) -> None:
        """Queries [D, D], keys and values [Hk d, D]."""
        shared = self.num_kv_heads * self.head_width  # Hk * d
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, shared, bias=bias)
        self.v_proj = nn.Linear(d_model, shared, bias=bias)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        """heads [B, H, Tq, d], of q [B, H, Tq, d] and k, v [B, Hk, Tk, d]."""
        return fused_heads(q, k, v, mask, self.dropout), None

    def attend_shown(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same step by step, keys and values repeated: heads, and weights [B, H, Tq, Tk]."""
        return written_out(q, k, v, mask, self.dropout)


def quarter(num_heads: int) -> int:
    """The largest divisor of H that is at most H / 4; at least 1."""
    return max((n for n in range(1, num_heads // 4 + 1) if num_heads % n == 0), default=1)
