"""Matrices act from the left on columns, biases are columns [D, 1]; cache is a plain function."""
import torch
from torch import Tensor, nn


class Left(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.matrix = nn.Parameter(torch.randn(d, d) / d**0.5)
        self.offset = nn.Parameter(torch.zeros(d, 1))

    def forward(self, column: Tensor) -> Tensor:
        return self.matrix @ column + self.offset


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model % num_heads")
        self.h = num_heads
        self.left = nn.ModuleDict({n: Left(d_model) for n in ("q", "k", "v", "o")})

    def forward(self, x: Tensor, cache=None):  # type: ignore[no-untyped-def]
        q, k, v = (self.left[n](x.mT).unflatten(1, (self.h, -1)) for n in "qkv")  # [B, H, d, 1]
        if cache is not None:
            old = cache()
            k, v = torch.cat([old[0], k], -1), torch.cat([old[1], v], -1)
        p = (q.mT @ k / q.size(2) ** 0.5).softmax(-1)
        return self.left["o"]((v @ p.mT).flatten(1, 2)).mT, lambda: (k, v)
