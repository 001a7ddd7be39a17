"""nanoGPT manner: packed c_attn, F.scaled_dot_product_attention, the cache is a dict that is changed and handed back."""

import torch
import torch.nn as nn
from torch.nn import functional as F


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=False):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.c_attn = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.c_proj = nn.Linear(d_model, d_model, bias=bias)
        self.n_head = num_heads

    def forward(self, x, cache):
        B, T, C = x.size()
        q, k, v = (
            t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
            for t in self.c_attn(x).split(C, dim=2)
        )
        if cache is None:
            cache = {}
        if "k" in cache:
            k = torch.cat((cache["k"], k), dim=2)
            v = torch.cat((cache["v"], v), dim=2)
        cache.update(k=k, v=v)
        y = F.scaled_dot_product_attention(q, k, v)  # one query, it may see all there is
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y), cache
