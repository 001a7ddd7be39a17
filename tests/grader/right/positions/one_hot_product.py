
import math

import torch
from torch import nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        t = torch.arange(max_len, dtype=torch.float32)
        columns = []
        for i in range(d_model):
            phase = 0.0 if i % 2 == 0 else math.pi / 2  # cos a = sin(a + pi / 2)
            angle = t.double() * math.pow(10000, -(i // 2 * 2) / d_model) + phase
            columns.append(torch.sin(angle))
        self.register_buffer("table", torch.stack(columns, 1).float(), persistent=False)

    def forward(self, x):
        assert x.dim() == 3
        if x.size(1) > self.table.size(0):
            raise ValueError("too long")
        return x + self.table.narrow(0, 0, x.size(1)).to(x.dtype)


class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.linear = nn.Linear(max_len, d_model, bias=False)

    def forward(self, x):
        n = self.linear.in_features
        if x.size(1) > n:
            raise ValueError("too long")
        one_hot = torch.eye(n, device=x.device, dtype=x.dtype)[: x.size(1)]
        return x + self.linear(one_hot)
