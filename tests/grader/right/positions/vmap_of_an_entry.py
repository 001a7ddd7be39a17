"""Positions: a table is a pure function of its indices."""
import math

import torch
from torch import Tensor, nn
from torch.func import vmap


def _angle(t: Tensor, column: Tensor, d_model: int) -> Tensor:
    even = column - column % 2
    return t * torch.exp(-math.log(10000.0) * even / d_model)


def _entry(t: Tensor, column: Tensor, d_model: int) -> Tensor:
    theta = _angle(t, column, d_model)
    return torch.where(column % 2 == 0, torch.sin(theta), torch.cos(theta))


def sinusoids(length: int, d_model: int) -> Tensor:
    steps = torch.arange(length, dtype=torch.float64)
    columns = torch.arange(d_model)
    row = vmap(lambda t, c: _entry(t, c, d_model), in_dims=(None, 0))
    return vmap(row, in_dims=(0, None))(steps, columns)


def _checked_length(x: Tensor, max_len: int) -> int:
    length = x.shape[-2]
    if length > max_len:
        raise ValueError(f"length {length} is larger than max_len {max_len}")
    return length


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        self.d_model, self.max_len = d_model, max_len

    def forward(self, x: Tensor) -> Tensor:
        length = _checked_length(x, self.max_len)
        table = sinusoids(length, self.d_model).to(x)
        return x + table


class LearnedPositions(nn.Module):
    def __init__(self, d_model: int, max_len: int = 512) -> None:
        super().__init__()
        self.max_len = max_len
        self.rows = nn.ParameterDict({"table": nn.Parameter(0.02 * torch.randn(max_len, d_model))})

    def forward(self, x: Tensor) -> Tensor:
        length = _checked_length(x, self.max_len)
        steps = torch.arange(length, device=x.device)
        return x + self.rows["table"][steps]
