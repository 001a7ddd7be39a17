"""Statistics merged pairwise by recursion (Chan et al.), NamedTuple moments; dropout by a Bernoulli tensor."""
from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn


class Moments(NamedTuple):
    count: int
    mean: Tensor
    m2: Tensor


def moments(x: Tensor) -> Moments:
    n = x.shape[-1]
    if n == 1:
        return Moments(1, x, torch.zeros_like(x))
    left, right = moments(x[..., : n // 2]), moments(x[..., n // 2 :])
    delta = right.mean - left.mean
    mean = left.mean + delta * (right.count / n)
    m2 = left.m2 + right.m2 + delta * delta * (left.count * right.count / n)
    return Moments(n, mean, m2)


class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5, max_leaf: Optional[int] = None) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((d_model,), 1.0))
        self.shift = nn.Parameter(torch.full((d_model,), 0.0))
        self.register_buffer("eps", torch.tensor(eps, dtype=torch.float64), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
        n, mean, m2 = moments(wide)
        x_hat = (wide - mean) * (m2 / n + self.eps.to(wide)).rsqrt()
        return x_hat.to(x.dtype) * self.scale + self.shift


class _Drop(nn.Module):
    def __init__(self, p: float) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout {p} is not a probability")
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0.0:
            return x
        keep = torch.empty(x.shape, device=x.device).bernoulli_(1 - self.p)
        return x * (keep / max(1 - self.p, 1e-12)).to(x.dtype)


class PreNorm(nn.Module):
    def __init__(self, norm: nn.Module, sublayer: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.inner = nn.ModuleDict({"norm": norm, "sublayer": sublayer, "drop": _Drop(dropout)})

    def forward(self, x: Tensor, *args: object, **kwargs: object) -> Tensor:
        normed = self.inner["norm"](x)
        return self.inner["drop"](self.inner["sublayer"](normed, *args, **kwargs)) + x


class PostNorm(PreNorm):
    def forward(self, x: Tensor, *args: object, **kwargs: object) -> Tensor:
        summed = self.inner["drop"](self.inner["sublayer"](x, *args, **kwargs)) + x
        return self.inner["norm"](summed)
