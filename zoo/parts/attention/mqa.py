"""All query heads share one head of keys and values."""

from __future__ import annotations

from zoo.parts.attention.gqa import GroupedQueryAttention


class MultiQueryAttention(GroupedQueryAttention):
    """head_h = softmax(Q_h K^T / sqrt(d)) V: grouped-query attention with a single group.

    k_proj and v_proj are [d, D]. Shazeer 2019, section 3, arXiv:1911.02150.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        """Arguments and errors as in `zoo.parts.attention.base.MultiHeadAttention`."""
        super().__init__(d_model, num_heads, dropout, bias, num_kv_heads=1)
