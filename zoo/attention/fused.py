"""Attention with packed projections and torch's fused kernel."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.attention.base import MultiHeadAttention, masked_softmax
from zoo.attention.packed import keep_canonical_names


class FusedAttention(MultiHeadAttention):
    """softmax(Q K^T / sqrt(d)) V in one kernel that never forms the weights; one matrix for q, k and v.

    `F.scaled_dot_product_attention`; FlashAttention, Dao et al. 2022, arXiv:2205.14135. With dropout on
    the CPU, for which torch has no such kernel, the weights are formed.
    """

    def make_projections(self, d_model: int, bias: bool) -> None:
        """One projection [3D, D] in place of three."""
        self.qkv_proj = nn.Linear(d_model, 3 * d_model, bias=bias)
        keep_canonical_names(self, lambda kind: f"qkv_proj.{kind}")

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As many matrix products as there are different inputs."""
        weight, bias = self.qkv_proj.weight, self.qkv_proj.bias
        if query is key and key is value:
            q, k, v = F.linear(query, weight, bias).chunk(3, dim=-1)  # [B, T, 3D] -> 3 x [B, T, D]
        elif key is value:
            parts = (query.size(-1), 2 * query.size(-1))
            biases = (None, None) if bias is None else bias.split(parts)
            q, kv = map(F.linear, (query, key), weight.split(parts), biases)
            k, v = kv.chunk(2, dim=-1)  # [B, Tk, 2D] -> 2 x [B, Tk, D]
        else:
            biases = (None,) * 3 if bias is None else bias.chunk(3)
            q, k, v = map(F.linear, (query, key, value), weight.chunk(3), biases)
        return self.split(q), self.split(k), self.split(v)

    def project_query(self, query: Tensor) -> Tensor:
        """The query's part of the packed projection."""
        width, bias = query.size(-1), self.qkv_proj.bias
        return self.split(
            F.linear(query, self.qkv_proj.weight[:width], None if bias is None else bias[:width])
        )

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        """heads [B, H, Tq, d]."""
        p = self.dropout.p if self.training else 0.0
        if p and q.device.type == "cpu":
            # No kernel drops weights on the CPU: torch would take these steps itself, with slower dropout.
            scores = q @ k.transpose(-2, -1) * self.head_width**-0.5  # [B, H, Tq, Tk]
            return self.dropout(masked_softmax(scores, mask)) @ v, None
        if mask is None:
            return F.scaled_dot_product_attention(q, k, v, dropout_p=p), None
        # What the kernels give for a fully masked row depends on kernel and version: let it attend to
        # everything, and blank it afterwards.
        open_ = (mask if mask.dtype == torch.bool else mask != float("-inf")).any(dim=-1, keepdim=True)
        safe = mask | ~open_ if mask.dtype == torch.bool else mask.masked_fill(~open_, 0.0)
        heads = F.scaled_dot_product_attention(q, k, v, attn_mask=safe, dropout_p=p)
        return heads.masked_fill(~open_, 0.0), None
