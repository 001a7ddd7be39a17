
import torch
from torch import nn
from torch.nn import functional as F


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.register_parameter("g", nn.Parameter(torch.ones(d_model)))
        self.register_parameter("b", nn.Parameter(torch.zeros(d_model)))
        self.eps = eps

    def one(self, row):
        d = row - row.mean()
        return d / (d.pow(2).mean() + self.eps).sqrt()

    def forward(self, x):
        rows = torch.stack([self.one(row) for row in x.reshape(-1, x.size(-1))])
        return rows.reshape(x.shape) * self.g + self.b


class PreNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm, self.sublayer, self.drop = norm, sublayer, nn.Dropout(dropout)

    def forward(self, x, *args, **kwargs):
        return x + self.drop(self.sublayer(self.norm(x), *args, **kwargs))


class PostNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm, self.sublayer, self.drop = norm, sublayer, nn.Dropout(dropout)

    def forward(self, x, *args, **kwargs):
        return self.norm(x + self.drop(self.sublayer(x, *args, **kwargs)))
