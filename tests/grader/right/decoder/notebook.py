"""Notebook manner: lambdas zipped with the norms, the stack folded by reduce."""

from functools import reduce

from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.sa, self.ca, self.ff = self_attention, cross_attention, feed_forward
        self.ns = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(3)])
        self.dr = nn.Dropout(dropout)
        self.pre = norm == "pre"

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        fs = (
            lambda h: self.sa(h, h, h, tgt_mask),
            lambda h: self.ca(h, memory, memory, src_mask),
            self.ff,
        )
        for f, n in zip(fs, self.ns):
            if self.pre:
                x = x + self.dr(f(n(x)))
            else:
                x = n(x + self.dr(f(x)))
        return x


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        ls = [make_layer() for _ in range(num_layers)]
        self.ls = nn.ModuleList(ls)
        self.n = nn.LayerNorm(d_model) if norm == "pre" else None

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        y = reduce(lambda h, l: l(h, memory, src_mask, tgt_mask), self.ls, x)
        return y if self.n is None else self.n(y)
