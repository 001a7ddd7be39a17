
import torch
from torch import nn
from torch.nn import functional as F

import warnings


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = x.var(dim=-1, keepdim=True, unbiased=False)
        return self.weight * ((x - mean) / torch.sqrt(var + self.eps)) + self.bias


class Sublayer(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0, *, name="sublayer"):
        super().__init__()
        if dropout > 0.5:
            warnings.warn("that is a lot of dropout", stacklevel=3)
        self.parts = nn.ModuleList([sublayer, norm])
        self.p = dropout
        self.name = name

    def around(self, x, inner, args, kwargs):
        out = self.parts[0](inner, *args, **kwargs)
        return torch.add(F.dropout(out, self.p, self.training), x)


class PreNorm(Sublayer):
    def forward(self, x, *rest, **named):
        return self.around(x, self.parts[1](x), rest, named)


class PostNorm(Sublayer):
    def forward(self, x, *rest, **named):
        return self.parts[1](self.around(x, x, rest, named))
