
import torch
from torch import nn
from torch.nn import functional as F


class LayerNorm(nn.LayerNorm):
    pass


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
