"""Notebook manner: gain and bias stacked in one parameter, in-place steps on a clone, bernoulli dropout."""

import torch
from torch import nn

up = lambda x: x.float() if x.dtype in (torch.bfloat16, torch.float16) else x  # noqa: E731


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps, self.D = eps, (D := d_model)
        self.gb = nn.Parameter(torch.stack([torch.ones(D), torch.zeros(D)]))

    def forward(self, x):
        g, b = up(self.gb)
        h = up(x).clone()
        h -= h.mean(-1, keepdim=True)
        v = h.pow(2).sum(-1, keepdim=True) / self.D
        h = h * (v + self.eps) ** -0.5
        return (h * g + b).type_as(x)


def drop(y, p, on):
    if not on or p == 0: return y
    return y * torch.empty_like(y).bernoulli_(1 - p).div_(1 - p)


class PreNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm, self.f, self.p = norm, sublayer, dropout

    def forward(self, x, *a, **k):
        y = self.f(self.norm(x), *a, **k)
        return x + drop(y, self.p, self.training)


class PostNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm, self.f, self.p = norm, sublayer, dropout

    def forward(self, x, *a, **k):
        y = self.f(x, *a, **k)
        return self.norm(x + drop(y, self.p, self.training))
