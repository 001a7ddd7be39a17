"""__call__ overridden (forward is its other name); the first weight is stored transposed through a parametrization."""
import torch
from torch import nn
from torch.nn.utils import parametrize


class Transposed(nn.Module):
    def forward(self, stored):
        return stored.mT

    def right_inverse(self, weight):
        return weight.mT.contiguous()


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)])
        parametrize.register_parametrization(self.layers[0], "weight", Transposed())
        self.drop = nn.Dropout(dropout)

    def __call__(self, x):
        first, second = self.layers
        with parametrize.cached():
            return second(self.drop(first(x).relu()))

    forward = __call__


if __name__ == "__main__":
    print([(n, tuple(p.shape)) for n, p in FeedForward(3, 5).named_parameters()])
