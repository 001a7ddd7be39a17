"""Positions, computed when they are needed."""

import math

import torch
from torch import nn


def _check(length, limit):
    if length > limit:
        raise ValueError(f"length {length} exceeds max_len {limit}")


def sinusoids(length, width, device=None):
    """cos(a) = sin(a + pi/2), so one sine does for all columns."""
    t = torch.arange(length, dtype=torch.float64, device=device)
    column = torch.arange(width, device=device)
    odd = column % 2
    omega = torch.pow(10000.0, -(column - odd).double() / width)
    return torch.sin(torch.outer(t, omega) + odd.double() * (math.pi / 2))


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model, self.max_len = d_model, max_len

    def forward(self, x):
        length = x.size(-2)
        _check(length, self.max_len)
        return x + sinusoids(length, self.d_model, x.device).to(x.dtype)


class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.table = nn.Parameter(torch.empty(max_len, d_model).uniform_(-0.1, 0.1))

    def forward(self, x):
        length = x.size(-2)
        _check(length, len(self.table))
        return torch.add(x, self.table.narrow(0, 0, length))
