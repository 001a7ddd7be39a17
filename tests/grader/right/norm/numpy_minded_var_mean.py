"""A numpy mind: np scalars for eps and for the dropout rate, torch.var_mean, rsqrt and addcmul."""
import numpy as np
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=np.float64(1e-5)):
        super().__init__()
        self.eps = np.float64(eps)
        ones, zeros = np.ones(d_model, dtype=np.float32), np.zeros(d_model, dtype=np.float32)
        self.gain = nn.Parameter(torch.from_numpy(ones))
        self.bias = nn.Parameter(torch.from_numpy(zeros))

    def forward(self, x):
        var, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        x_hat = torch.subtract(x, mean).multiply(torch.rsqrt(torch.add(var, float(self.eps))))
        return torch.addcmul(self.bias, x_hat, self.gain)


def _dropout(x, rate, rng_on):
    """Inverted dropout, written out."""
    if not rng_on or rate == 0:
        return x
    if rate == 1:
        return torch.zeros_like(x)
    keep = np.float64(1) - rate
    mask = torch.rand(x.shape, device=x.device) < float(keep)
    return torch.divide(torch.where(mask, x, torch.zeros_like(x)), float(keep))


class _Sub(nn.Module):
    def __init__(self, norm, sublayer, dropout=np.float64(0)):
        super().__init__()
        self.rate = np.float64(dropout)
        self.sublayer = sublayer
        self.norm = norm


class PreNorm(_Sub):
    def forward(self, x, *args, **kwargs):
        y = self.sublayer(self.norm(x), *args, **kwargs)
        return torch.add(x, _dropout(y, self.rate, self.training))


class PostNorm(_Sub):
    def forward(self, x, *args, **kwargs):
        y = self.sublayer(x, *args, **kwargs)
        return self.norm(torch.add(x, _dropout(y, self.rate, self.training)))
