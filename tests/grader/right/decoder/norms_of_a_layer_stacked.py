import torch
import torch.nn.functional as F
from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.shifts = nn.Parameter(torch.zeros(3, d_model))
        self.gains = nn.Parameter(torch.ones(3, d_model))  # the last sublayer's first
        self.own, self.cross, self.feed = self_attention, cross_attention, feed_forward
        self.drop, self.pre = nn.Dropout(dropout), norm == "pre"

    def norm(self, i, x):
        return F.layer_norm(x, x.shape[-1:], self.gains[2 - i], self.shifts[2 - i])

    def around(self, i, x, sublayer):
        if self.pre:
            return x + self.drop(sublayer(self.norm(i, x)))
        return self.norm(i, x + self.drop(sublayer(x)))

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        x = self.around(0, x, lambda y: self.own(y, y, y, tgt_mask))
        x = self.around(1, x, lambda y: self.cross(y, memory, memory, src_mask))
        return self.around(2, x, self.feed)


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList(make_layer() for _ in range(num_layers))
        if norm == "pre":
            self.last = nn.Parameter(torch.stack([torch.ones(d_model), torch.zeros(d_model)]))  # [2, D]

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        return F.layer_norm(x, x.shape[-1:], *self.last) if hasattr(self, "last") else x
