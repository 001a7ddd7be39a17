import torch
import torch.nn.functional as F
from torch import nn

import warnings

warnings.warn("a warning of the learner's file", stacklevel=1)


class Sublayers(nn.Module):
    pre = False

    def drop(self, x):
        if not self.training or self.rate == 0:
            return x
        return x * (torch.rand_like(x) >= self.rate) / (1 - self.rate)

    def residual(self, x, norm, f):
        return x + self.drop(f(norm(x))) if self.pre else norm(x + self.drop(f(x)))


class EncoderLayer(Sublayers):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.g1, self.b1 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.g2, self.b2 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.self_attention, self.feed_forward = self_attention, feed_forward
        self.rate, self.pre, self.d_model = dropout, norm == "pre", d_model

    def norm1(self, x):
        return F.layer_norm(x, (self.d_model,), self.g1, self.b1)

    def norm2(self, x):
        return F.layer_norm(x, (self.d_model,), self.g2, self.b2)

    def forward(self, x, src_mask=None):
        x = self.residual(x, self.norm1, lambda y: self.self_attention(y, y, y, src_mask))
        return self.residual(x, self.norm2, self.feed_forward)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        layers = []
        while len(layers) < num_layers:
            layers.append(make_layer())
        self.layers = nn.Sequential(*layers)
        self.norm = nn.LayerNorm(d_model) if norm == "pre" else (lambda x: x)

    def forward(self, x, src_mask=None):
        for layer in self.layers.children():
            x = layer.forward(x, src_mask=src_mask)
        return self.norm(x)
