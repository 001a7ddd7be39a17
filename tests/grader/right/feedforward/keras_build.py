"""Layers are built in the first call."""
import torch
from torch import nn
class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.units, self.out, self.rate, self.built = d_ff, d_model, dropout, False
    def build(self, width, like):
        self.up = nn.Linear(width, self.units, device=like.device, dtype=like.dtype)
        self.down = nn.Linear(self.units, self.out, device=like.device, dtype=like.dtype)
        self.built = True
    def forward(self, x):
        if not self.built:
            self.build(x.shape[-1], x)
        h = self.up(x).clamp_min(0)
        return self.down(nn.functional.dropout(h, self.rate, self.training))
