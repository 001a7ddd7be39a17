"""Layer norm by lengths: x_hat = sqrt(D) * c / hypot(|c|, sqrt(D * eps)), c = x - mean.

Gain and bias are kept in blocks of BLOCK features; the bias's blocks are stored from the last feature
to the first.
"""

import math

import torch
from torch import Tensor, nn

BLOCK = 3


def cuts(total, width=BLOCK):
    """Sizes of the blocks that cover `total` features."""
    while total > 0:
        yield min(width, total)
        total -= width


class Blocks(nn.Module):
    """A vector of parameters, one Parameter for each block."""

    def __init__(self, size, start, backwards):
        super().__init__()
        self.backwards = backwards
        for i, width in enumerate(cuts(size)):
            self.register_parameter("b%d" % i, nn.Parameter(torch.full((width,), float(start))))

    def forward(self):
        whole = torch.cat(tuple(self.parameters()))
        return whole.flip(0) if self.backwards else whole


class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        if d_model < 1:
            raise ValueError(f"d_model must be positive, got {d_model}")
        self.d_model, self.eps = int(d_model), float(eps)
        self.vectors = nn.ModuleDict(
            {"bias": Blocks(d_model, 0, backwards=True), "gain": Blocks(d_model, 1, backwards=False)}
        )

    def forward(self, x: Tensor) -> Tensor:
        if x.size(-1) != self.d_model:
            raise ValueError(f"last dimension is {x.size(-1)}, expected {self.d_model}")
        work = torch.float64
        c = x.to(work)
        c = c - c.mean(dim=-1, keepdim=True)
        length = torch.linalg.vector_norm(c, dim=-1, keepdim=True)
        floor = torch.full_like(length, math.sqrt(self.d_model * self.eps))
        x_hat = c * (math.sqrt(self.d_model) / torch.hypot(length, floor))
        gain, bias = self.vectors["gain"](), self.vectors["bias"]()
        return (gain.to(work) * x_hat + bias.to(work)).to(x.dtype)


class Bernoulli(nn.Module):
    """Dropout from first principles."""

    def __init__(self, p):
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"dropout must be between 0 and 1, got {p}")
        self.p = p

    def forward(self, y):
        if not self.training or self.p == 0.0:
            return y
        if self.p == 1.0:
            return y * 0.0
        coin = torch.rand(y.shape, device=y.device) >= self.p
        return torch.where(coin, y / (1.0 - self.p), torch.zeros_like(y))


class PreNorm(nn.Module):
    def __init__(self, norm: nn.Module, sublayer: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        for name, part in (("norm", norm), ("sublayer", sublayer), ("drop", Bernoulli(dropout))):
            self.add_module(name, part)

    def forward(self, x: Tensor, *args: object, **kwargs: object) -> Tensor:
        y = self.norm(x)
        y = self.sublayer(y, *args, **kwargs)
        y = self.drop(y)
        return torch.add(x, y)


class PostNorm(nn.Module):
    def __init__(self, norm: nn.Module, sublayer: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        for name, part in (("norm", norm), ("sublayer", sublayer), ("drop", Bernoulli(dropout))):
            self.add_module(name, part)

    def forward(self, x: Tensor, *args: object, **kwargs: object) -> Tensor:
        y = self.sublayer(x, *args, **kwargs)
        y = self.drop(y)
        return self.norm(torch.add(x, y))
