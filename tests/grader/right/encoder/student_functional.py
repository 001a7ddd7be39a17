"""Encoder: sublayers as functions in a loop, the stack as a fold."""

from functools import reduce

import torch
from torch import nn
from torch.nn import functional as F


class Norm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        return F.layer_norm(x, self.gain.shape, self.gain, self.bias, 1e-5)


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.parts = nn.ModuleDict({"attend": self_attention, "feed": feed_forward})
        self.norms = nn.ModuleDict({name: Norm(d_model) for name in self.parts})
        self.p = dropout
        self.before, self.after = norm == "pre", norm != "pre"

    def call(self, name, x, mask):
        part = self.parts[name]
        if name == "attend":
            return part(query=x, key=x, value=x, mask=mask)
        return part(x)

    def forward(self, x, src_mask=None):
        for name, norm in self.norms.items():
            given = norm(x) if self.before else x
            x = x + F.dropout(self.call(name, given, src_mask), self.p, self.training)
            x = norm(x) if self.after else x
        return x


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        layers = [make_layer() for _ in range(num_layers)]
        self.layers = nn.ModuleDict({str(i): layer for i, layer in enumerate(layers)})
        self.top = Norm(d_model) if norm == "pre" else None

    def forward(self, x, src_mask=None):
        y = reduce(lambda state, layer: layer(state, src_mask), self.layers.values(), x)
        return y if self.top is None else self.top(y)
