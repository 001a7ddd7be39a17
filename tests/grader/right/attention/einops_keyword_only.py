"""Lucidrains manner: einops layers, einsum, exists/default, no biases; every optional argument keyword-only."""

from __future__ import annotations

import torch
from einops import einsum, rearrange
from einops.layers.torch import Rearrange
from torch import nn


def exists(v):
    return v is not None


def default(v, d):
    return v if exists(v) else d


def max_neg_value(t):
    return -torch.finfo(t.dtype).max


def scaled_dot_product_attention(query, key, value, *, mask=None, scale=None):
    scale = default(scale, query.shape[-1] ** -0.5)
    sim = einsum(query * scale, key, "... i d, ... j d -> ... i j")
    if exists(mask):
        forbidden = ~mask if mask.dtype == torch.bool else mask.isneginf()
        sim = sim.masked_fill(forbidden, max_neg_value(sim))
    attn = sim.softmax(dim=-1)
    out = einsum(attn, value, "... i j, ... j d -> ... i d")
    return out, attn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, *, talking: bool = False, **kwargs):
        super().__init__()
        assert not talking, "not today"
        if d_model % num_heads:
            raise ValueError("d_model must be divisible by num_heads")
        self.heads = num_heads
        split = "b n (h d) -> b h n d"
        self.to_q = nn.Sequential(nn.Linear(d_model, d_model, bias=False), Rearrange(split, h=num_heads))
        self.to_k = nn.Sequential(nn.Linear(d_model, d_model, bias=False), Rearrange(split, h=num_heads))
        self.to_v = nn.Sequential(nn.Linear(d_model, d_model, bias=False), Rearrange(split, h=num_heads))
        self.attn_dropout = nn.Dropout(dropout)
        self.to_out = nn.Sequential(Rearrange("b h n d -> b n (h d)"), nn.Linear(d_model, d_model, bias=False))

    def forward(self, query, key, value, *, mask=None):
        q, k, v = self.to_q(query), self.to_k(key), self.to_v(value)
        _, attn = scaled_dot_product_attention(q, k, v, mask=mask)
        attn = self.attn_dropout(attn)
        out = einsum(attn, v, "b h i j, b h j d -> b h i d")
        return self.to_out(out)


if __name__ == "__main__":
    x = torch.randn(2, 5, 8)
    print(rearrange(MultiHeadAttention(8, 2)(x, x, x), "b n d -> (b n) d").shape)
