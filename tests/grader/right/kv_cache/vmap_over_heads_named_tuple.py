"""One step of causal attention: (carry, x) -> (carry, y), like a scan body."""
import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import vmap


class KV(NamedTuple):
    ks: Tensor  # [b, h, t, d]
    vs: Tensor  # [b, h, t, d]


def append(cache, k: Tensor, v: Tensor) -> KV:
    if cache is None:
        return KV(k, v)
    return KV(*(torch.cat(pair, dim=-2) for pair in zip(cache, (k, v))))


def attend_one(q: Tensor, ks: Tensor, vs: Tensor) -> Tensor:
    """q [d], ks [t, d], vs [t, d] -> [d]"""
    logits = torch.einsum("d,td->t", q, ks) / math.sqrt(q.shape[-1])
    return torch.einsum("t,td->d", logits.softmax(-1), vs)


attend_heads = vmap(vmap(attend_one))


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model=} is not a multiple of {num_heads=}")
        self.num_heads = num_heads
        init = lambda: nn.Parameter(torch.randn(d_model, d_model) / math.sqrt(d_model))
        self.params = nn.ParameterDict({name: init() for name in ("q", "k", "v", "o")})

    def forward(self, x: Tensor, cache):
        heads = lambda name: torch.einsum("bti,oi->bto", x, self.params[name]).unflatten(-1, (self.num_heads, -1)).movedim(2, 1)
        q, k, v = map(heads, "qkv")
        cache = append(cache, k, v)
        ctx = attend_heads(q.squeeze(2), *cache)
        out = torch.einsum("bi,oi->bo", ctx.flatten(1), self.params["o"])
        return out[:, None], cache
