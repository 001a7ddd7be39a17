"""Attention with einsum; every head has its own matrices."""

import torch
from torch import nn


def blocked_keys(mask):
    return ~mask if mask.dtype == torch.bool else mask < 0


def attention_weights(query, key, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.size(-1) ** -0.5
    if mask is None:
        return scores.softmax(-1)
    blocked = blocked_keys(mask)
    return scores.masked_fill(blocked, float("-inf")).softmax(-1).masked_fill(blocked, 0.0)


def scaled_dot_product_attention(query, key, value, mask=None):
    weights = attention_weights(query, key, mask)
    return torch.einsum("...qk,...kv->...qv", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}")
        d = d_model // num_heads
        self.p = dropout
        self.w_in = nn.Parameter(torch.empty(3, num_heads, d_model, d))
        self.b_in = nn.Parameter(torch.zeros(3, num_heads, 1, d))
        self.w_out = nn.Parameter(torch.empty(num_heads, d, d_model))
        self.b_out = nn.Parameter(torch.zeros(d_model))
        bound = d_model**-0.5
        nn.init.uniform_(self.w_in, -bound, bound)
        nn.init.uniform_(self.w_out, -bound, bound)

    def project(self, x, which):
        return torch.einsum("btm,hmd->bhtd", x, self.w_in[which]) + self.b_in[which]

    def forward(self, query, key, value, mask=None):
        q, k, v = (self.project(x, i) for i, x in enumerate((query, key, value)))
        weights = attention_weights(q, k, mask)
        weights = nn.functional.dropout(weights, self.p, self.training)
        return torch.einsum("bhqk,bhkd,hdm->bqm", weights, v, self.w_out) + self.b_out
