"""Attention whose heads pass through a gate."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.parts.attention.cache import KeyValueCache
from zoo.parts.attention.grouped import GroupedAttention
from zoo.parts.attention.kernel import fused_heads, written_out
from zoo.parts.encoding.base import Positions


class GatedAttention(GroupedAttention):
    """out = concat(head_h * sigmoid(x W_g)_h) W_o, where x is what the queries are made of.

    The gate comes behind the softmax's sum, the place that the paper found best: it makes the map from values
    to output nonlinear, and lets a position take next to nothing, so that no key has to serve as a sink. One
    gate per number of a head ("elementwise", W_g [D, H d]), or one per head ("headwise", W_g [D, H]). Qiu et
    al. 2025, section 2.2, arXiv:2505.06708.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        headwise: bool = False,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        qk_norm: bool = False,
    ) -> None:
        """
        Args:
            headwise: whether each head has one gate, instead of one per feature.

        Other arguments and errors as in `zoo.parts.attention.grouped.GroupedAttention`.
        """
        super().__init__(d_model, num_heads, dropout, bias, num_kv_heads, head_dim, qk_norm)
        self.headwise = headwise
        gates = num_heads if headwise else num_heads * self.head_width
        self.gate_proj = nn.Linear(d_model, gates, bias=bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        positions: Positions | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """As `MultiHeadAttention.forward`: [B, Tq, D]."""
        heads, _ = self.attend(*self.prepare(query, key, value, mask, positions=positions, cache=cache))
        return self.out_proj(self.merge(heads * self.gate(query)))  # type: ignore[no-any-return]

    def forward_with_weights(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        positions: Positions | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return what `forward` gives, and the weights [B, H, Tq, Tk] in front of the gate."""
        heads, weights = self.attend_shown(*self.prepare(query, key, value, mask, positions=positions))
        return self.out_proj(self.merge(heads * self.gate(query))), weights

    def gate(self, query: Tensor) -> Tensor:
        """Return the gates, between 0 and 1: query [B, Tq, D] -> [B, H, Tq, d], or [B, H, Tq, 1] if headwise."""
        gates: Tensor = self.gate_proj(query).sigmoid()
        return gates.transpose(1, 2).unsqueeze(-1) if self.headwise else self.split(gates)  # [B, Tq, H] -> ..

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        """heads [B, H, Tq, d] in front of the gate."""
        return fused_heads(q, k, v, mask, self.dropout, grouped=True), None

    def attend_shown(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The same step by step: heads, and weights [B, H, Tq, Tk]."""
        return written_out(q, k, v, mask, self.dropout)
