"""Incremental attention of the sequence-to-sequence library."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class CachedAttentionConfig:
    d_model: int
    num_heads: int
    block: int = 4

    def __post_init__(self) -> None:
        if self.d_model % self.num_heads != 0:
            raise ValueError(f"num_heads={self.num_heads} does not divide d_model={self.d_model}")

    @property
    def head_dim(self) -> int:
        return self.d_model // self.num_heads


class KeyValueCache:
    """Keys and values [B, H, capacity, d]; grows by blocks."""

    def __init__(self, like: Tensor, block: int) -> None:
        batch, heads, _, width = like.shape
        self.block = block
        self.length = 0
        self.keys = like.new_zeros(batch, heads, block, width)
        self.values = like.new_zeros(batch, heads, block, width)

    @property
    def capacity(self) -> int:
        return self.keys.size(2)

    def _reserve(self) -> None:
        if self.length < self.capacity:
            return
        self.keys = F.pad(self.keys, (0, 0, 0, self.block))
        self.values = F.pad(self.values, (0, 0, 0, self.block))

    def past(self) -> tuple[Tensor, Tensor]:
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values up to the current position; the current ones keep their graph."""
        past_keys, past_values = self.past()
        keys = torch.cat((past_keys, key), dim=2)
        values = torch.cat((past_values, value), dim=2)
        self.store(key.detach(), value.detach())
        return keys, values

    @torch.no_grad()
    def store(self, key: Tensor, value: Tensor) -> None:
        self._reserve()
        self.keys[:, :, self.length] = key.squeeze(2)
        self.values[:, :, self.length] = value.squeeze(2)
        self.length += 1


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        self.config = CachedAttentionConfig(d_model, num_heads)
        self.to_query = nn.Linear(d_model, d_model)
        self.to_key = nn.Linear(d_model, d_model)
        self.to_value = nn.Linear(d_model, d_model)
        self.to_output = nn.Linear(d_model, d_model)

    def _heads(self, x: Tensor) -> Tensor:
        """[B, 1, D] -> [B, H, 1, d]."""
        return x.unflatten(2, (self.config.num_heads, self.config.head_dim)).permute(0, 2, 1, 3)

    def _merge(self, heads: Tensor) -> Tensor:
        """[B, H, 1, d] -> [B, 1, D]."""
        return heads.permute(0, 2, 1, 3).flatten(start_dim=2)

    def forward(self, x: Tensor, cache: KeyValueCache | None) -> tuple[Tensor, KeyValueCache]:
        assert x.size(1) == 1, "one position at a time"
        query = self._heads(self.to_query(x))
        key = self._heads(self.to_key(x))
        value = self._heads(self.to_value(x))
        if cache is None:
            cache = KeyValueCache(key, self.config.block)
        keys, values = cache.extend(key, value)
        context = F.scaled_dot_product_attention(query, keys, values)
        return self.to_output(self._merge(context)), cache
