"""typing.NamedTuple cache (empty at first, with a method), einops, SDPA; keys kept as [B, T, D] without heads and detached."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from einops import pack, rearrange
from torch import Tensor, nn


class KV(NamedTuple):
    keys: Tensor
    values: Tensor

    @classmethod
    def empty(cls, like: Tensor) -> KV:
        return cls(like[:, :0].detach(), like[:, :0].detach())

    def plus(self, key: Tensor, value: Tensor) -> KV:
        k, _ = pack([self.keys, key], "b * d")
        v, _ = pack([self.values, value], "b * d")
        return self._replace(keys=k, values=v)

    def detached(self) -> KV:
        return KV(*(t.detach() for t in self))


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} % {num_heads} != 0")
        self.heads = num_heads
        self.to_q = nn.Linear(d_model, d_model, bias=False)
        self.to_kv = nn.Linear(d_model, d_model * 2, bias=False)
        self.to_out = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, cache: KV | None) -> tuple[Tensor, KV]:
        if cache is None:
            cache = KV.empty(x)
        now = cache.plus(*self.to_kv(x).chunk(2, dim=-1))
        q, k, v = (rearrange(t, "b n (h d) -> b h n d", h=self.heads) for t in (self.to_q(x), *now))
        out = F.scaled_dot_product_attention(q, k, v)
        return self.to_out(rearrange(out, "b h n d -> b n (h d)")), now.detached()
