"""Attention one position at a time. The cache is a dict with two lists."""

import math

import torch
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} is not a multiple of {num_heads}")
        self.heads = num_heads
        self.width = d_model // num_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def per_head(self, x):
        """[B, 1, D] -> [B, H, d]"""
        return x.reshape(x.size(0), self.heads, self.width)

    def forward(self, x, cache=None):
        if cache is None:
            cache = {"keys": [], "values": []}
        keys = cache["keys"] + [self.per_head(self.key(x))]
        values = cache["values"] + [self.per_head(self.value(x))]
        all_keys = torch.stack(keys, dim=2)  # [B, H, T, d]
        all_values = torch.stack(values, dim=2)

        query = self.per_head(self.query(x)).unsqueeze(2)  # [B, H, 1, d]
        scores = (query * all_keys).sum(-1) / math.sqrt(self.width)  # [B, H, T]
        weights = torch.softmax(scores, dim=-1)
        mixed = (weights.unsqueeze(-1) * all_values).sum(dim=2)  # [B, H, d]
        out = self.out(mixed.reshape(x.shape))
        return out, {"keys": keys, "values": values}
