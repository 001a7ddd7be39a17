
import torch
from torch import nn


class Affine(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n, m))
        self.bias = nn.Parameter(torch.empty(m))
        nn.init.xavier_uniform_(self.weight)
        nn.init.normal_(self.bias, std=1e-2)

    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.down, self.up = Affine(d_ff, d_model), Affine(d_model, d_ff)
        self.rate = dropout

    def _drop(self, h):
        if not self.training or self.rate == 0:
            return h
        keep = torch.rand_like(h) >= self.rate
        return h * keep / (1 - self.rate)

    def forward(self, x):
        columns = [self.down(self._drop(self.up(x[:, t]) * (self.up(x[:, t]) > 0))) for t in range(x.size(1))]
        return torch.stack(columns, dim=1)
