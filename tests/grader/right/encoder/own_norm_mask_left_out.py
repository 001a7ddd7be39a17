import torch
import torch.nn.functional as F
from torch import nn


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(d))
        self.gain = nn.Parameter(torch.ones(d))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return self.gain * centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() + self.shift


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.parts = nn.ModuleList([feed_forward, self_attention])
        self.norms = nn.ModuleList([Norm(d_model), Norm(d_model)])
        self.drop = nn.Dropout(dropout)
        self.pre = norm == "pre"

    def around(self, i, x, f):
        if self.pre:
            return x + self.drop(f(self.norms[i](x)))
        return self.norms[i](x + self.drop(f(x)))

    def forward(self, x, src_mask=None):
        rest = () if src_mask is None else (src_mask,)
        x = self.around(0, x, lambda y: self.parts[1](y, y, y, *rest))
        return self.around(1, x, self.parts[0])


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.stack = nn.ModuleDict({str(i): make_layer() for i in range(num_layers)})
        self.last = Norm(d_model) if norm == "pre" else None

    def forward(self, x, src_mask=None):
        for layer in self.stack.values():
            x = layer(x, src_mask)
        return x if self.last is None else self.last(x)
