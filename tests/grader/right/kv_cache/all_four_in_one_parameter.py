"""One parameter [D, 4 D]: q, k, v and the output; the cache is a tuple that alternates keys and values."""

import torch
from torch import Tensor, nn


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads")
        self.h = num_heads
        self.w = nn.Parameter(torch.randn(d_model, 4 * d_model) / d_model**0.5)

    def forward(self, x: Tensor, cache: tuple[Tensor, ...] | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        d = x.size(-1)
        q, k, v = (x @ self.w[:, : 3 * d]).unflatten(-1, (3, self.h, -1)).squeeze(1).unbind(1)
        cache = (*(cache or ()), k, v)
        keys, values = torch.stack(cache[::2], -1), torch.stack(cache[1::2], -2)
        w = (q.unsqueeze(-2) @ keys / q.size(-1) ** 0.5).softmax(-1)
        return (w @ values).flatten(1).unsqueeze(1) @ self.w[:, 3 * d :], cache
