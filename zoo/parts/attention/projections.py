"""One packed projection of query, key and value in place of three."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.attention.base import MultiHeadAttention
from zoo.parts.attention.packed import keep_canonical_names
from zoo.parts.linear import Linear, linear


class PackedAttention(MultiHeadAttention):
    """Multi-head attention with one matrix [D + 2 Hk d, D] for q, k and v: fewer and larger products.

    There are Hk = `num_kv_heads` heads of keys and values, as many as of queries unless a variant says
    otherwise.
    """

    num_kv_heads = 0

    def make_projections(self, d_model: int, bias: bool) -> None:
        """One projection [D + 2 Hk d, D]."""
        shared = (self.num_kv_heads or self.num_heads) * self.head_width  # Hk * d
        self.widths = (d_model, shared, shared)
        self.qkv_proj = Linear(d_model, sum(self.widths), bias=bias)
        keep_canonical_names(self, "qkv_proj.", self.widths)

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As many matrix products as there are different inputs."""
        weight, bias = self.qkv_proj.weight, self.qkv_proj.bias
        of_query, of_key, of_value = self.widths
        if query is key and key is value:
            q, k, v = linear(query, weight, bias).split(self.widths, dim=-1)  # -> [B, T, D], 2 x [B, T, Hk*d]
        elif key is value:
            parts = (of_query, of_key + of_value)
            biases = (None, None) if bias is None else bias.split(parts)
            q, kv = map(linear, (query, key), weight.split(parts), biases)
            k, v = kv.chunk(2, dim=-1)  # [B, Tk, 2*Hk*d] -> 2 x [B, Tk, Hk*d]
        else:
            biases = (None,) * 3 if bias is None else bias.split(self.widths)
            q, k, v = map(linear, (query, key, value), weight.split(self.widths), biases)
        return self.split(q), self.split(k), self.split(v)

    def project_query(self, query: Tensor) -> Tensor:
        """The query's part of the packed projection."""
        width, bias = self.widths[0], self.qkv_proj.bias
        return self.split(linear(query, self.qkv_proj.weight[:width], None if bias is None else bias[:width]))
