
import math

import torch
from torch import nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pe = torch.zeros(1, max_len, d_model)
        position = torch.arange(max_len).float().unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[0, :, 0::2] = torch.sin(position * div_term)
        pe[0, :, 1::2] = torch.cos(position * div_term[: d_model // 2])
        self.register_buffer("pe", pe)

    def forward(self, x):
        if x.size(1) > self.pe.size(1):
            raise ValueError(f"sequence of {x.size(1)}, but max_len={self.pe.size(1)}")
        return x + self.pe[:, : x.size(1)].requires_grad_(False)


class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.zeros(1, max_len, d_model))

    def forward(self, x):
        if x.size(1) > self.pos_embedding.size(1):
            raise ValueError("too long")
        return x + self.pos_embedding[:, : x.size(1), :]
