"""The feed-forward network gets two positions at a time, as where memory is short."""

import torch
from torch import nn

AT_ONCE = 2


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.attention, self.network = self_attention, feed_forward
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2))
        self.drop = nn.Dropout(dropout)
        self.pre = norm == "pre"

    def around(self, x, norm, sublayer):
        if self.pre:
            return x + self.drop(sublayer(norm(x)))
        return norm(x + self.drop(sublayer(x)))

    def in_pieces(self, x):
        return torch.cat([self.network(piece) for piece in x.split(AT_ONCE, dim=1)], dim=1)

    def forward(self, x, src_mask=None):
        x = self.around(x, self.norms[0], lambda h: self.attention(h, h, h, src_mask))
        return self.around(x, self.norms[1], self.in_pieces)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList(make_layer() for _ in range(num_layers))
        self.last = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x, src_mask=None):
        for layer in self.layers:
            x = layer(x, src_mask)
        return self.last(x)
