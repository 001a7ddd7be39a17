"""Keys and values in ONE tensor [2, B, H, T, d], attention as a pure function with logsumexp, softmax in float32; conv1d of kernel 1 as projections."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import nn

Cache = TypeVar("Cache", torch.Tensor, None)


def attend(q, kv):
    k, v = kv
    wide = torch.promote_types(q.dtype, torch.float32)
    logits = torch.einsum("bhqd,bhkd->bhqk", q, k).to(wide) * q.shape[-1] ** -0.5
    log_p = logits - logits.logsumexp(-1, keepdim=True)
    return torch.einsum("bhqk,bhkd->bhqd", log_p.exp().to(v.dtype), v)


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} and num_heads={num_heads} do not go together")
        self.num_heads = num_heads
        self.q_conv = nn.LazyConv1d(d_model, 1)
        self.kv_conv = nn.Conv1d(d_model, 2 * d_model, kernel_size=1)
        self.o_conv = nn.Conv1d(d_model, d_model, kernel_size=1, bias=False)

    def forward(self, x: torch.Tensor, cache: Cache):
        b, t, d = x.shape
        z = x.transpose(1, 2)  # channels in the middle, as a convolution likes them
        q = self.q_conv(z).view(b, self.num_heads, -1, t).transpose(2, 3)
        kv = self.kv_conv(z).view(b, 2, self.num_heads, -1, t).permute(1, 0, 2, 4, 3)
        cache = kv if cache is None else torch.cat([cache, kv], dim=3)
        y = attend(q, cache.unbind(0))
        y = y.transpose(2, 3).reshape(b, d, t)
        return self.o_conv(y).transpose(1, 2), cache
