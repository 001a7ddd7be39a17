"""Cached attention with one packed matrix, and buffers that grow."""

import torch
from torch import nn


class Cache:
    """Keys and values of earlier positions, [2, B, H, room, d]; `used` of them are filled."""

    def __init__(self, like, room=8):
        two, batch, heads, width = like.shape
        self.buffer = like.new_zeros(two, batch, heads, room, width)
        self.used = 0

    def add(self, pair):
        room = self.buffer.size(3)
        if self.used == room:
            larger = self.buffer.new_zeros(*self.buffer.shape[:3], 2 * room, self.buffer.size(4))
            larger[:, :, :, :room] = self.buffer
            self.buffer = larger
        self.buffer[:, :, :, self.used] = pair
        self.used += 1

    def filled(self):
        return self.buffer[:, :, :, : self.used].clone()


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model={d_model}, num_heads={num_heads}: not divisible")
        self.num_heads = num_heads
        self.packed = nn.Parameter(torch.randn(3 * d_model, d_model) * d_model**-0.5)
        self.last = nn.Parameter(torch.randn(d_model, d_model) * d_model**-0.5)

    def forward(self, x, cache):
        qkv = torch.einsum("btm,nm->btn", x, self.packed)
        q, k, v = qkv.view(x.size(0), 3, self.num_heads, -1).unbind(1)  # each [B, H, d]
        now = torch.stack([k, v])  # [2, B, H, d]
        cache = Cache(now) if cache is None else cache
        past = cache.filled()
        cache.add(now.detach())

        keys, values = torch.cat([past, now.unsqueeze(3)], dim=3)
        weights = torch.einsum("bhd,bhtd->bht", q * q.size(-1) ** -0.5, keys).softmax(-1)
        heads = torch.einsum("bht,bhtd->bhd", weights, values)
        return heads.reshape_as(x) @ self.last.T, cache
