"""Incremental self-attention with a preallocated key-value cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass
class KVCache:
    """Buffers of shape [B, H, capacity, head_dim], of which `length` positions are filled."""

    keys: Tensor
    values: Tensor
    length: int = 0

    @classmethod
    def allocate(cls, like: Tensor, capacity: int) -> "KVCache":
        """Make an empty cache for keys like `like` [B, H, 1, head_dim]."""
        batch_size, num_heads, _, head_dim = like.shape
        shape = (batch_size, num_heads, capacity, head_dim)
        return cls(like.new_zeros(shape), like.new_zeros(shape))

    def _grow(self) -> None:
        """Double the capacity."""
        self.keys = torch.cat([self.keys, torch.zeros_like(self.keys)], dim=2)
        self.values = torch.cat([self.values, torch.zeros_like(self.values)], dim=2)

    def append(self, k: Tensor, v: Tensor) -> Tuple[Tensor, Tensor]:
        """Store one position; return all keys and values up to and including it."""
        all_keys = torch.cat([self.keys[:, :, : self.length], k], dim=2)
        all_values = torch.cat([self.values[:, :, : self.length], v], dim=2)
        if self.length == self.keys.size(2):
            self._grow()
        self.keys[:, :, self.length] = k.detach().squeeze(2)
        self.values[:, :, self.length] = v.detach().squeeze(2)
        self.length += 1
        return all_keys, all_values


class CachedAttention(nn.Module):
    """Causal self-attention, one position per call.

    Args:
        d_model: model width.
        num_heads: number of heads; must divide `d_model`.
    """

    initial_capacity = 4

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
        self.d_model = d_model
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def _split_heads(self, x: Tensor) -> Tensor:
        """[B, 1, D] -> [B, H, 1, head_dim]."""
        batch_size, length, _ = x.shape
        return x.view(batch_size, length, self.num_heads, self.head_dim).transpose(1, 2)

    def _merge_heads(self, x: Tensor) -> Tensor:
        """[B, H, 1, head_dim] -> [B, 1, D]."""
        batch_size, _, length, _ = x.shape
        return x.transpose(1, 2).reshape(batch_size, length, self.d_model)

    def forward(self, x: Tensor, cache: Optional[KVCache] = None) -> Tuple[Tensor, KVCache]:
        """Attend from one new position to itself and all earlier ones.

        Args:
            x: [B, 1, D].
            cache: None at the first position, afterwards what the last call returned.

        Returns:
            Output [B, 1, D] and the cache.
        """
        if x.dim() != 3 or x.size(1) != 1:
            raise ValueError(f"x must have shape [B, 1, D], got {tuple(x.shape)}")
        q = self._split_heads(self.q_proj(x))
        k = self._split_heads(self.k_proj(x))
        v = self._split_heads(self.v_proj(x))

        if cache is None:
            cache = KVCache.allocate(k, self.initial_capacity)
        keys, values = cache.append(k, v)

        context = F.scaled_dot_product_attention(q, keys, values)
        return self.out_proj(self._merge_heads(context)), cache
