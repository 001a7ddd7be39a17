"""Packed (d, three) inside each head; the cache is one tensor [2, B, H, t, d]."""

import torch
from torch import Tensor, nn


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads")
        self.h = num_heads
        self.qkv, self.o = nn.Linear(d_model, 3 * d_model, bias=False), nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, cache: Tensor | None) -> tuple[Tensor, Tensor]:
        q, k, v = self.qkv(x).unflatten(-1, (self.h, -1, 3)).transpose(1, 2).unbind(-1)
        new = torch.stack((k, v))
        kv = new if cache is None else torch.cat((cache, new), -2)
        y = nn.functional.scaled_dot_product_attention(q, kv[0], kv[1])
        return self.o(y.transpose(1, 2).flatten(2)), kv
