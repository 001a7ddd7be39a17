import math
import torch
import torch.nn.functional as F
from torch import nn


class Cache:
    def __init__(self, x, room=2):
        self.used = 0
        self.k = x.new_zeros(x.size(0), room, x.size(2))
        self.v = x.new_zeros(x.size(0), room, x.size(2))

    def grow(self):
        self.k = torch.cat([self.k, torch.zeros_like(self.k)], 1)
        self.v = torch.cat([self.v, torch.zeros_like(self.v)], 1)


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be a multiple of num_heads")
        self.heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, cache):
        cache = Cache(x) if cache is None else cache
        if cache.used == cache.k.size(1):
            cache.grow()
        t = cache.used
        new_k, new_v = self.k_proj(x), self.v_proj(x)
        k = torch.cat([cache.k[:, :t].clone(), new_k], 1)
        v = torch.cat([cache.v[:, :t].clone(), new_v], 1)
        with torch.no_grad():
            cache.k[:, t : t + 1] = new_k
            cache.v[:, t : t + 1] = new_v
        cache.used = t + 1
        parts = zip(*(y.chunk(self.heads, -1) for y in (self.q_proj(x), k, v)))
        outs = []
        for q_h, k_h, v_h in parts:
            outs.append((q_h @ k_h.mT / math.sqrt(q_h.size(-1))).softmax(-1) @ v_h)
        return self.out_proj(torch.cat(outs, -1)), cache
