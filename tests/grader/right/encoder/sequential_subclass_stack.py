"""The stack is an nn.Sequential (layers, then perhaps a norm) with a forward of its own; norms in an nn.ModuleList."""
import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in "12")
        self.drops = nn.ModuleList(nn.Dropout(dropout) for _ in "12")
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        self.pre = norm == "pre"

    def forward(self, x, src_mask=None):
        fs = [lambda h: self.self_attention(h, h, h, mask=src_mask), self.feed_forward]
        for f, norm, drop in zip(fs, self.norms, self.drops):
            if self.pre:
                x = torch.add(x, drop(f(norm(x))))
            else:
                x = norm(torch.add(x, drop(f(x))))
        return x


class Encoder(nn.Sequential):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__(*[make_layer() for _ in range(num_layers)])
        self.num_layers = num_layers
        if norm == "pre":
            self.append(nn.LayerNorm(d_model))

    def forward(self, x, src_mask=None):
        for number, module in enumerate(self):
            x = module(x, src_mask) if number < self.num_layers else module(x)
        return x
