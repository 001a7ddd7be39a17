"""Learned: even and odd columns in two tables; a table that is stored by pages in a dict with numbered keys."""
import torch
from torch import Tensor, nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        t = torch.arange(max_len, dtype=torch.float64)[:, None]
        f = torch.exp2(torch.arange(0, d_model, 2, dtype=torch.float64) * (-torch.log2(torch.tensor(1e4, dtype=torch.float64)) / d_model))
        self.register_buffer("sin", torch.sin(t * f))
        self.register_buffer("cos", torch.cos(t * f[: d_model // 2]))

    def forward(self, x: Tensor) -> Tensor:
        t = x.size(1)
        if t > self.sin.size(0):
            raise ValueError(f"{t} > {self.sin.size(0)}")
        y = x.clone()
        y[..., ::2] += self.sin[:t].to(x)
        y[..., 1::2] += self.cos[:t].to(x)
        return y


class LearnedPositions(nn.Module):
    def __init__(self, d_model: int, max_len: int = 512) -> None:
        super().__init__()
        self.even, self.odd = nn.Embedding(max_len, (d_model + 1) // 2), nn.Embedding(max_len, d_model // 2)

    def forward(self, x: Tensor) -> Tensor:
        t = x.size(1)
        if t > self.even.num_embeddings:
            raise ValueError(f"{t} > {self.even.num_embeddings}")
        y = x.clone()
        y[..., ::2] += self.even.weight[:t]
        y[..., 1::2] += self.odd.weight[:t]
        return y
