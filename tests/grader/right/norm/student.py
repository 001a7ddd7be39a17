"""Layer norm, and where to put it."""

import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x):
        # short floats are not precise enough for a variance
        work = x.float() if x.dtype == torch.bfloat16 else x
        variance, mean = torch.var_mean(work, dim=-1, correction=0, keepdim=True)
        standard = (work - mean) / torch.sqrt(variance + self.eps)
        return (standard * self.scale + self.shift).to(x.dtype)


class PreNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm = norm
        self.sublayer = sublayer
        self.drop = nn.Dropout(dropout)

    def forward(self, x, *args, **kwargs):
        branch = self.norm(x)
        branch = self.sublayer(branch, *args, **kwargs)
        branch = self.drop(branch)
        return x + branch


class PostNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm = norm
        self.sublayer = sublayer
        self.drop = nn.Dropout(dropout)

    def forward(self, x, *args, **kwargs):
        branch = self.sublayer(x, *args, **kwargs)
        branch = self.drop(branch)
        total = x + branch
        return self.norm(total)
