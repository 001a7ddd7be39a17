"""The base class of attentions whose query heads may share heads of keys and values."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.parts.attention.base import check_heads
from zoo.parts.attention.shown import ShownAttention
from zoo.parts.norm_type.rmsnorm import RMSNorm

EPSILON = 1e-6
"""Under the root of the norms of queries and keys."""


class GroupedAttention(ShownAttention):
    """Heads of queries in Hk groups of H / Hk neighbours, each with one head of keys and values.

    k_proj and v_proj are [Hk d, D], and a cache holds H / Hk times less: Ainslie et al. 2023, section 2.2,
    arXiv:2305.13245. With Hk = H every query head has its own. Heads of a width d other than D / H have
    projections [H d, D] and back. With `qk_norm`, each head of queries and of keys goes through an RMS norm
    with a learned gain [d], before positions act on it: Gemma Team 2025, section 2, arXiv:2503.19786.
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
            num_kv_heads: number of key and value heads Hk; divides H; H itself if None.
            head_dim: width d of a head; D / H if not given.
            qk_norm: whether queries and keys are normalized.

        Other arguments as in `zoo.parts.attention.base.MultiHeadAttention`.

        Raises:
            ValueError: H does not divide D and head_dim is not given, or Hk does not divide H.
        """
        if head_dim is None:
            check_heads(d_model, num_heads)
        self.num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if self.num_kv_heads < 1 or num_heads % self.num_kv_heads:
            raise ValueError(f"num_heads={num_heads} is not divisible by num_kv_heads={num_kv_heads}.")
        self.head_dim = head_dim
        super().__init__(d_model, num_heads, dropout, bias)
        self.q_norm = RMSNorm(self.head_width, EPSILON) if qk_norm else nn.Identity()
        self.k_norm = RMSNorm(self.head_width, EPSILON) if qk_norm else nn.Identity()

    def make_projections(self, d_model: int, bias: bool) -> None:
        """Queries [H d, D], keys and values [Hk d, D]."""
        width, shared = self.num_heads * self.head_width, self.num_kv_heads * self.head_width
        self.q_proj = nn.Linear(d_model, width, bias=bias)
        self.k_proj = nn.Linear(d_model, shared, bias=bias)
        self.v_proj = nn.Linear(d_model, shared, bias=bias)

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q [B, H, Tq, d], k and v [B, Hk, Tk, d]. With `qk_norm`, queries and keys are normed, before a cache."""
        q, k, v = super().project(query, key, value)
        return self.q_norm(q), self.k_norm(k), v

    def project_query(self, query: Tensor) -> Tensor:
        """The query alone, normalized."""
        return self.q_norm(super().project_query(query))  # type: ignore[no-any-return]
