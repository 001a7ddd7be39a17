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


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.parts = nn.ModuleList([feed_forward, cross_attention, self_attention])
        self.norms = nn.ModuleList([Norm(d_model) for _ in range(3)])
        self.drop = nn.Dropout(dropout)
        self.pre = norm == "pre"

    def around(self, i, x, f):
        if self.pre:
            return x + self.drop(f(self.norms[i](x)))
        return self.norms[i](x + self.drop(f(x)))

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        src = {} if src_mask is None else {"mask": src_mask}
        tgt = {} if tgt_mask is None else {"mask": tgt_mask}
        x = self.around(2, x, lambda y: self.parts[2](y, y, y, **tgt))
        x = self.around(0, x, lambda y: self.parts[1](y, memory, memory, **src))
        return self.around(1, x, self.parts[0])


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.stack = nn.ModuleDict({str(i): make_layer() for i in range(num_layers)})
        self.last = Norm(d_model) if norm == "pre" else None

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for layer in self.stack.values():
            x = layer(x, memory, src_mask, tgt_mask)
        return x if self.last is None else self.last(x)
