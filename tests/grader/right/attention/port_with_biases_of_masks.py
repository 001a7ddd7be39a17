"""Multi-head attention, ported from flax: einsum, kernels [D, H, d], masks as biases.

Axis names: b batch, q query length, k key length, h heads, d head size, m model size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

NEG_INF = float("-inf")


@dataclass(frozen=True)
class AttentionConfig:
    embed_dim: int
    num_heads: int
    dropout_rate: float = 0.0

    @property
    def head_dim(self) -> int:
        return self.embed_dim // self.num_heads


def lecun_normal(shape: tuple[int, ...], fan_in: int) -> Tensor:
    return torch.randn(shape) / math.sqrt(fan_in)


def dropout(x: Tensor, rate: float, deterministic: bool) -> Tensor:
    if deterministic or rate == 0.0:
        return x
    if rate >= 1.0:
        return x * 0.0
    keep = torch.rand(x.shape, device=x.device) >= rate
    return x * keep / (1.0 - rate)


def attention_bias(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """bool or float mask -> float bias of the same shape; a row with no open key is opened."""
    if mask.dtype == torch.bool:
        bias = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
        bias = bias.masked_fill(~mask, NEG_INF)
    else:
        bias = mask.to(dtype)
    dead = torch.isneginf(bias).all(dim=-1, keepdim=True)
    return bias.masked_fill(dead, 0.0)


def attention_weights(query: Tensor, key: Tensor, bias: Tensor | None) -> Tensor:
    # [..., q, d], [..., k, d] -> [..., q, k]
    scale = query.shape[-1] ** -0.5
    logits = torch.einsum("...qd,...kd->...qk", query * scale, key)
    if bias is not None:
        # select, do not add: a masked logit may have overflowed
        logits = torch.where(torch.isneginf(bias), bias, logits)
    return torch.softmax(logits, dim=-1)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    bias = None if mask is None else attention_bias(mask, query.dtype)
    weights = attention_weights(query, key, bias)
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} is not a multiple of num_heads={num_heads}")
        self.config = cfg = AttentionConfig(d_model, num_heads, dropout)
        kernel = (cfg.embed_dim, cfg.num_heads, cfg.head_dim)
        self.query_kernel = nn.Parameter(lecun_normal(kernel, cfg.embed_dim))
        self.key_kernel = nn.Parameter(lecun_normal(kernel, cfg.embed_dim))
        self.value_kernel = nn.Parameter(lecun_normal(kernel, cfg.embed_dim))
        self.out_kernel = nn.Parameter(
            lecun_normal((cfg.num_heads, cfg.head_dim, cfg.embed_dim), cfg.embed_dim)
        )
        self.out_bias = nn.Parameter(torch.zeros(cfg.embed_dim))

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        cfg = self.config
        project = "btm,mhd->bhtd"
        q = torch.einsum(project, query, self.query_kernel)
        k = torch.einsum(project, key, self.key_kernel)
        v = torch.einsum(project, value, self.value_kernel)
        bias = None if mask is None else attention_bias(mask, q.dtype)
        weights = attention_weights(q, k, bias)  # [b, h, q, k]
        weights = dropout(weights, cfg.dropout_rate, deterministic=not self.training)
        context = torch.einsum("bhqk,bhkd->bqhd", weights, v)
        return torch.einsum("bqhd,hdm->bqm", context, self.out_kernel) + self.out_bias
