"""The norm of PreNorm is a pre-hook on an inner shell, that of PostNorm a forward hook; LayerNorm.forward is chosen in __init__."""
import functools

import torch
from torch import nn


def _two_pass(module, x):
    mean = torch.mean(x, dim=-1, keepdim=True)
    centred = x - mean
    square = torch.mean(torch.square(centred), dim=-1, keepdim=True)
    normed = centred / torch.sqrt(square + module.eps)
    return torch.mul(normed, module.gamma) + module.beta


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.register_parameter("gamma", nn.Parameter(torch.ones(d_model)))
        self.register_parameter("beta", nn.Parameter(torch.zeros(d_model)))
        self.forward = functools.partial(_two_pass, self)


class _Shell(nn.Module):
    def __init__(self, sublayer, dropout):
        super().__init__()
        self.sublayer = sublayer
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, *args, **kwargs):
        return self.dropout(self.sublayer(x, *args, **kwargs))


class PreNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm = norm
        self.shell = _Shell(sublayer, dropout)
        self.shell.register_forward_pre_hook(self._norm_first)

    def _norm_first(self, shell, args):
        x, *rest = args
        return (self.norm(x), *rest)

    def forward(self, x, *args, **kwargs):
        return x + self.shell(x, *args, **kwargs)


class PostNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm = norm
        self.shell = _Shell(sublayer, dropout)
        self.register_forward_hook(lambda self, args, output: self.norm(output))

    def forward(self, x, *args, **kwargs):
        return x + self.shell(x, *args, **kwargs)
