
import torch
from torch import nn
from torch.nn import functional as F


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5, elementwise_affine=True):
        super().__init__()
        self.b_2 = nn.Parameter(torch.zeros(d_model))
        self.a_2 = nn.Parameter(torch.ones(d_model))
        self.d_model, self.eps = (d_model,), eps

    def forward(self, x):
        return F.layer_norm(x, self.d_model, self.a_2, self.b_2, self.eps)


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
