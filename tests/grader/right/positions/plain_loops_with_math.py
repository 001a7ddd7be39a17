
import math

import torch
from torch import nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        rows = []
        for t in range(max_len):
            row = []
            for c in range(d_model):
                angle = t / 10000 ** ((c - c % 2) / d_model)
                row.append(math.cos(angle) if c % 2 else math.sin(angle))
            rows.append(row)
        self.register_buffer("pe", torch.tensor(rows))

    def forward(self, x):
        if x.shape[1] > len(self.pe):
            raise ValueError("too long")
        return x + self.pe[None, : x.shape[1]]


class LearnedPositions(nn.Module):
    """One Parameter a position."""

    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.rows = nn.ParameterList([nn.Parameter(torch.randn(d_model)) for _ in range(max_len)])

    def forward(self, x):
        if x.size(1) > len(self.rows):
            raise ValueError("too long")
        return x + torch.stack([self.rows[t] for t in range(x.size(1))])
