import math
import torch
import torch.nn.functional as F
from torch import nn


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be a multiple of num_heads")
        self.h = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache):
        q, k, v = (t.unflatten(-1, (self.h, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        if cache is None:
            cache = {}
        else:
            k, v = torch.cat((cache["k"], k), -2), torch.cat((cache["v"], v), -2)
        cache["k"], cache["v"] = k, v
        out = F.scaled_dot_product_attention(q, k, v)
        return self.proj(out.transpose(1, 2).flatten(2)), cache
