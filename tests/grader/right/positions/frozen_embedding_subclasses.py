
import math

import torch
from torch import nn

import warnings


def table(d_model, max_len):
    t = torch.arange(max_len, dtype=torch.float64)
    pairs = torch.logspace(0, -4 * (d_model + d_model % 2 - 2) / d_model, (d_model + 1) // 2, dtype=torch.float64)
    angle = torch.outer(t, pairs)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)[:, :d_model].float()


class SinusoidalPositions(nn.Embedding):
    def __init__(self, d_model, max_len=5000):
        super().__init__(max_len, d_model, _weight=table(d_model, max_len))
        self.weight.requires_grad_(False)

    def forward(self, x):
        if x.size(1) > self.num_embeddings:
            raise ValueError("too long")
        return super().forward(torch.arange(x.size(1), device=x.device)).unsqueeze(0).expand_as(x) + x


class LearnedPositions(nn.Embedding):
    def __init__(self, d_model, max_len=512, std=0.02):
        super().__init__(max_len, d_model)
        nn.init.normal_(self.weight, std=std)

    def forward(self, x):
        if x.size(1) > self.num_embeddings:
            raise ValueError("too long")
        if x.size(1) == self.num_embeddings:
            warnings.warn("that is just long enough", stacklevel=2)
        return x + super().forward(torch.arange(x.size(1), device=x.device).repeat(x.size(0), 1))
