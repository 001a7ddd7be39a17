import torch
import torch.nn.functional as F
from torch import nn

import warnings

warnings.warn("a warning of the learner's file", stacklevel=1)


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.gains = nn.ParameterList([nn.Parameter(torch.ones(d_model)) for _ in range(3)])
        self.shifts = nn.ParameterList([nn.Parameter(torch.zeros(d_model)) for _ in range(3)])
        self.own, self.other, self.feed = self_attention, cross_attention, feed_forward
        self.rate, self.pre = dropout, norm == "pre"

    def norm(self, i, x):
        return F.layer_norm(x, x.shape[-1:], self.gains[i], self.shifts[i])

    def drop(self, x):
        if not self.training or self.rate == 0:
            return x
        return x * (torch.rand_like(x) >= self.rate) / (1 - self.rate)

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        steps = (
            lambda y: self.own(y, y, y, tgt_mask),
            lambda y: self.other(y, memory, memory, src_mask),
            self.feed,
        )
        for i, step in enumerate(steps):
            if self.pre:
                x = x + self.drop(step(self.norm(i, x)))
            else:
                x = self.norm(i, x + self.drop(step(x)))
        return x


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.Sequential(*[make_layer() for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model) if norm == "pre" else (lambda x: x)

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for layer in self.layers.children():
            x = layer.forward(x, memory, tgt_mask=tgt_mask, src_mask=src_mask)
        return self.norm(x)
