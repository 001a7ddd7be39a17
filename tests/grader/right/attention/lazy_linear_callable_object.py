"""Dive-into-Deep-Learning manner: nn.LazyLinear everywhere; the function is an instance of a callable class."""

import math

import torch
from torch import nn


def masked_softmax(X, allowed):
    """Softmax over the last axis; what may not be seen gets no share."""
    if allowed is None:
        return nn.functional.softmax(X, dim=-1)
    X = torch.where(allowed, X, torch.finfo(X.dtype).min)
    shares = nn.functional.softmax(X, dim=-1)
    return shares * allowed.to(shares.dtype)


class DotProductAttention(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, mask=None):
        d = queries.shape[-1]
        if mask is not None and mask.dtype != torch.bool:
            mask = mask > -1
        scores = torch.matmul(queries, keys.swapaxes(-2, -1)) / math.sqrt(d)
        weights = masked_softmax(scores, mask)
        return torch.matmul(self.dropout(weights), values), weights


class _Function:
    __slots__ = ("module",)
    __name__ = "scaled_dot_product_attention"

    def __init__(self):
        self.module = DotProductAttention(0.0).eval()

    def __call__(self, query, key, value, mask=None):
        return self.module(query, key, value, mask)


scaled_dot_product_attention = _Function()


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=False, **kwargs):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_hiddens has to be a multiple of num_heads")
        self.num_heads = num_heads
        self.attention = DotProductAttention(dropout)
        self.W_q = nn.LazyLinear(d_model, bias=bias)
        self.W_k = nn.LazyLinear(d_model, bias=bias)
        self.W_v = nn.LazyLinear(d_model, bias=bias)
        self.W_o = nn.LazyLinear(d_model, bias=bias)

    def forward(self, query, key, value, mask=None):
        queries = self.transpose_qkv(self.W_q(query))
        keys = self.transpose_qkv(self.W_k(key))
        values = self.transpose_qkv(self.W_v(value))
        if mask is not None:
            # heads are folded into the batch below, so the mask has to be written out in full
            mask = mask.expand(query.shape[0], self.num_heads, query.shape[1], key.shape[1]).flatten(0, 1)
        output, _ = self.attention(queries, keys, values, mask)
        return self.W_o(self.transpose_output(output))

    def transpose_qkv(self, X):
        X = X.reshape(X.shape[0], X.shape[1], self.num_heads, -1)
        return X.permute(0, 2, 1, 3).reshape(-1, X.shape[1], X.shape[3])

    def transpose_output(self, X):
        X = X.reshape(-1, self.num_heads, X.shape[1], X.shape[2])
        return X.permute(0, 2, 1, 3).reshape(X.shape[0], X.shape[2], -1)
