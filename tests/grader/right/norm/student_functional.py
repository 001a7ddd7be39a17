"""Layer norm; the two placements share a base class."""

import torch
from torch import nn
from torch.nn import functional as F


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.register_parameter("g", nn.Parameter(torch.full((d_model,), 1.0)))
        self.register_parameter("b", nn.Parameter(torch.full((d_model,), 0.0)))

    def forward(self, x):
        y = x.to(torch.float32) if x.dtype in (torch.bfloat16, torch.float16) else x
        d = y.shape[-1]
        y = y - y.sum(-1, keepdim=True) / d
        power = torch.einsum("...i,...i->...", y, y).unsqueeze(-1) / d
        y = y * (power + self.eps) ** -0.5
        return torch.addcmul(self.b.to(y.dtype), y, self.g.to(y.dtype)).to(x.dtype)


class Residual(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm = norm
        self.sublayer = sublayer
        self.dropout = dropout

    def branch(self, x, *args, **kwargs):
        return F.dropout(self.sublayer(x, *args, **kwargs), self.dropout, self.training)


class PreNorm(Residual):
    def forward(self, x, *args, **kwargs):
        return x + self.branch(self.norm(x), *args, **kwargs)


class PostNorm(Residual):
    def forward(self, x, *args, **kwargs):
        return self.norm(x + self.branch(x, *args, **kwargs))
