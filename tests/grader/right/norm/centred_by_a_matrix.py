
import torch
from torch import nn
from torch.nn import functional as F


class LayerNorm(nn.Module):
    """Taking the mean away is a projection; dividing is a matter of length."""

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.full((d_model,), 1.0))
        self.shift = nn.Parameter(torch.full((d_model,), 0.0))
        self.eps = eps
        self.register_buffer("n", torch.tensor(float(d_model)), persistent=False)

    def forward(self, x):
        first = x[..., :1]
        x = x - first  # the norm does not see an offset
        x = x - x.mean(-1, keepdim=True)
        root = torch.sqrt((x * x).sum(-1, keepdim=True) / self.n + self.eps)
        return self.scale * x / root + self.shift


class PreNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.add_module("inside", sublayer)
        self.add_module("before", norm)
        self.rate = dropout

    def forward(self, x, *args, **kwargs):
        y = self.inside(self.before(x), *args, **kwargs)
        if self.training and self.rate:
            y = y * torch.bernoulli(torch.full_like(y, 1 - self.rate)) / (1 - self.rate)
        return y + x


class PostNorm(PreNorm):
    def forward(self, x, *args, **kwargs):
        y = self.inside(x, *args, **kwargs)
        if self.training and self.rate:
            y = y * torch.bernoulli(torch.full_like(y, 1 - self.rate)) / (1 - self.rate)
        return self.before(y + x)
