
import math

import torch
from torch import nn


class TooLong(ValueError):
    pass


class Base(nn.Module):
    def __init__(self, d_model, max_len):
        super().__init__()
        self.d_model = d_model
        self.max_len = max_len

    def rows(self, x):
        raise NotImplementedError

    def forward(self, x, offset=0):
        if offset + x.size(1) > self.max_len:
            raise TooLong(f"{x.size(1)} positions from {offset}, at most {self.max_len}")
        return torch.add(x, self.rows(x)[offset : offset + x.size(1)])


class SinusoidalPositions(Base):
    """Row after row, by turning every hand of the clock a step further (in complex128)."""

    def __init__(self, d_model, max_len=5000):
        super().__init__(d_model, max_len)
        self.made = None

    def rows(self, x):
        if self.made is None or self.made.dtype != x.dtype or self.made.device != x.device:
            D = self.d_model
            step = torch.polar(torch.ones((D + 1) // 2, dtype=torch.float64),
                               10000 ** (-torch.arange(0, D, 2, dtype=torch.float64) / D))
            turns = torch.cat([torch.ones_like(step)[None], step.expand(self.max_len - 1, -1)]).cumprod(0)
            pairs = torch.stack([turns.imag, turns.real], -1).reshape(self.max_len, -1)
            self.made = pairs[:, :D].to(x)
        return self.made


class LearnedPositions(Base):
    """The table lies on its side."""

    def __init__(self, d_model, max_len=512):
        super().__init__(d_model, max_len)
        self.columns = nn.Parameter(torch.empty(d_model, max_len).uniform_(-0.1, 0.1))

    def rows(self, x):
        return self.columns.t()
