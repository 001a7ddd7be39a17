"""Attention with a softmax of my own."""

import math

import torch
from torch import nn


def usable_keys(mask):
    """Both kinds of mask as one boolean table, True = the query may look there."""
    if mask.dtype == torch.bool:
        return mask
    return torch.isfinite(mask)


def softmax_rows(scores, usable=None):
    """Softmax over the last dimension, with weight 0 for keys that are not usable."""
    if usable is not None:
        scores = torch.where(usable, scores, torch.finfo(scores.dtype).min)
    # exp cannot overflow if the largest score of the row is subtracted first
    top = scores.amax(dim=-1, keepdim=True).detach()
    exps = torch.exp(scores - top)
    if usable is not None:
        exps = exps * usable
    total = exps.sum(dim=-1, keepdim=True)
    total = torch.where(total > 0, total, torch.ones_like(total))  # a row without any key
    return exps / total


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    scores = torch.matmul(query / math.sqrt(d_k), key.transpose(-1, -2))
    usable = None if mask is None else usable_keys(mask)
    weights = softmax_rows(scores, usable)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.head_size, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"{d_model} columns cannot be shared by {num_heads} heads")
        self.num_heads = num_heads
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_out = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(p=dropout)

    def heads(self, x):
        """[B, T, D] -> [B, H, T, d]"""
        return x.unflatten(-1, (self.num_heads, self.head_size)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.heads(self.to_query(query))
        k = self.heads(self.to_key(key))
        v = self.heads(self.to_value(value))
        _, weights = scaled_dot_product_attention(q, k, v, mask)
        mixed = torch.matmul(self.drop(weights), v)
        side_by_side = mixed.transpose(1, 2).reshape(query.shape)
        return self.to_out(side_by_side)
