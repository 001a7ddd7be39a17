"""One-token attention with a preallocated cache, ported from flax's decode mode.

Axes: b batch, h heads, c cache slots, d head size, m model size.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

INITIAL_SLOTS = 8
NEG_INF = float("-inf")


@dataclass(frozen=True)
class KVCache:
    key: Tensor  # [b, h, c, d]
    value: Tensor  # [b, h, c, d]
    index: int  # slots in use

    @property
    def slots(self) -> int:
        return self.key.shape[2]


def init_cache(like: Tensor, slots: int) -> KVCache:
    # like [b, h, d]
    batch, heads, size = like.shape
    empty = like.new_zeros(batch, heads, slots, size)
    return KVCache(empty, empty, 0)


def grow(cache: KVCache) -> KVCache:
    # twice as many slots, the new ones are empty
    room = torch.zeros_like(cache.key)
    key = torch.cat([cache.key, room], dim=2)
    value = torch.cat([cache.value, room], dim=2)
    return KVCache(key, value, cache.index)


def write(cache: KVCache, key: Tensor, value: Tensor) -> KVCache:
    # functional update of one slot: key, value [b, h, d]
    slot = torch.arange(cache.slots, device=key.device) == cache.index
    slot = slot[None, None, :, None]
    return KVCache(
        torch.where(slot, key[:, :, None, :], cache.key),
        torch.where(slot, value[:, :, None, :], cache.value),
        cache.index + 1,
    )


def slot_bias(cache: KVCache) -> Tensor:
    # 0 for slots in use, -inf for empty ones: [c]
    used = torch.arange(cache.slots, device=cache.key.device) < cache.index
    bias = torch.zeros(cache.slots, dtype=cache.key.dtype, device=cache.key.device)
    return bias.masked_fill(~used, NEG_INF)


def lecun_normal(shape: tuple[int, ...], fan_in: int) -> Tensor:
    return torch.randn(shape) / math.sqrt(fan_in)


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} is not a multiple of num_heads={num_heads}")
        head_dim = d_model // num_heads
        self.scale = head_dim**-0.5
        # q, k and v in one kernel: [3, m, h, d]
        self.qkv_kernel = nn.Parameter(lecun_normal((3, d_model, num_heads, head_dim), d_model))
        self.out_kernel = nn.Parameter(lecun_normal((num_heads, head_dim, d_model), d_model))

    def forward(self, x: Tensor, cache: KVCache | None = None) -> tuple[Tensor, KVCache]:
        q, k, v = torch.einsum("bm,nmhd->nbhd", x[:, 0], self.qkv_kernel)
        if cache is None:
            cache = init_cache(k, INITIAL_SLOTS)
        if cache.index == cache.slots:
            cache = grow(cache)
        cache = write(cache, k, v)
        logits = torch.einsum("bhd,bhcd->bhc", q * self.scale, cache.key)
        weights = torch.softmax(logits + slot_bias(cache), dim=-1)
        context = torch.einsum("bhc,bhcd->bhd", weights, cache.value)
        out = torch.einsum("bhd,hdm->bm", context, self.out_kernel)
        return out[:, None, :], cache
