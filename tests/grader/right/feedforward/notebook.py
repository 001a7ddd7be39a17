"""Notebook manner: both matrices in one parameter, `+=`, the ReLU as a product, dropout by hand."""

import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        D, F = d_model, d_ff
        self.D, self.F, self.p = D, F, dropout
        self.w = nn.Parameter(torch.randn(2, F, D) / D**0.5)
        self.b1, self.b2 = nn.Parameter(torch.zeros(F)), nn.Parameter(torch.zeros(D))

    def forward(self, x):
        w1, w2 = self.w
        h = torch.matmul(x, w1.T)
        h += self.b1
        h = h * (h > 0)
        if self.training and self.p > 0:
            keep = torch.rand_like(h) >= self.p
            h = h * keep / (1 - self.p)
        y = h @ w2
        y += self.b2
        return y
