"""The feed-forward network with bare matrices."""

import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(d_model, d_ff) / d_model**0.5)
        self.b1 = nn.Parameter(torch.zeros(d_ff))
        self.w2 = nn.Parameter(torch.randn(d_ff, d_model) / d_ff**0.5)
        self.b2 = nn.Parameter(torch.zeros(d_model))
        self.p = dropout

    def drop(self, hidden):
        if not self.training or self.p == 0:
            return hidden
        keep = torch.rand(hidden.shape, device=hidden.device) >= self.p
        return hidden * keep / (1 - self.p)

    def forward(self, x):
        hidden = torch.einsum("btm,mf->btf", x, self.w1) + self.b1
        hidden = torch.where(hidden > 0, hidden, torch.zeros_like(hidden))
        return torch.einsum("btf,fm->btm", self.drop(hidden), self.w2) + self.b2
