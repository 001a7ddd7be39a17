
import math

import torch
from torch import nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model, self.max_len = d_model, max_len

    def forward(self, x):
        B, T, D = x.shape
        if T > self.max_len:
            raise ValueError(f"{T} positions, at most {self.max_len}")
        t = torch.arange(T, device=x.device, dtype=torch.float64)[:, None]
        c = torch.arange(D, device=x.device, dtype=torch.float64)[None]
        angle = t / 10000.0 ** ((c - c % 2) / D)
        return x + torch.where(c % 2 == 0, angle.sin(), angle.cos()).to(x.dtype)


class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.emb = nn.Embedding(max_len, d_model)

    def forward(self, x):
        T = x.size(1)
        if T > self.emb.num_embeddings:
            raise ValueError(f"too long: {T} > {self.emb.num_embeddings}")
        return x + self.emb(torch.arange(T, device=x.device))
