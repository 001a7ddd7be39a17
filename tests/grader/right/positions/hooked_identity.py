"""Positions added by a pre-hook on an Identity; buffer made lazily; learned table by LazyModule."""
import math, torch
from torch import nn
class SinusoidalPositions(nn.Identity):
    def __init__(self, d_model, *, max_len=5000, **unused):
        super().__init__()
        self.d, self.n = d_model, max_len
        self.register_buffer("table", None, persistent=False)
        self.register_forward_pre_hook(SinusoidalPositions.add)
    def add(self, args):
        (x,) = args
        if x.size(1) > self.n:
            raise ValueError(f"{x.size(1)} > {self.n}")
        if self.table is None or self.table.size(0) < x.size(1):
            t = torch.arange(x.size(1), dtype=torch.float64, device=x.device)[:, None]
            i = torch.arange(self.d, device=x.device)
            ang = t / 10000 ** ((i - i % 2).double() / self.d)
            self.table = torch.where(i % 2 == 0, ang.sin(), ang.cos())
        return (x + self.table[: x.size(1)].to(x),)
class LearnedPositions(nn.Module):
    def __init__(self, d_model, *, max_len=512):
        super().__init__()
        self.n, self.d = max_len, d_model
        self.emb = nn.Embedding(max_len, d_model)
    def forward(self, x):
        if x.size(1) > self.n:
            raise ValueError("long")
        return self.emb(torch.arange(x.size(1)).to(x.device)).add(x)
