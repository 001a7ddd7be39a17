
import torch
from torch import nn
from torch.nn import functional as F


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.columns = nn.Parameter(torch.stack([torch.ones(d_model), torch.zeros(d_model)], dim=1))  # [D, 2]
        self.eps = eps

    def forward(self, x):
        gain, bias = self.columns.unbind(1)
        return F.layer_norm(x, x.shape[-1:], gain, bias, self.eps)


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
