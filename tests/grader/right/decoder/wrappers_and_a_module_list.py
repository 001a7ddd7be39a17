import torch
import torch.nn.functional as F
from torch import nn


class Around(nn.Module):
    def __init__(self, inner, d_model, dropout):
        super().__init__()
        self.inner, self.norm, self.drop = inner, nn.LayerNorm(d_model), nn.Dropout(dropout)


class After(Around):
    def forward(self, x, call):
        return self.norm(torch.add(x, self.drop(call(self.inner, x))))


class Before(Around):
    def forward(self, x, call):
        return torch.add(self.drop(call(self.inner, self.norm(x))), x)


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        kind = {"post": After, "pre": Before}[norm]
        self.third = kind(feed_forward, d_model, dropout)
        self.first = kind(self_attention, d_model, dropout)
        self.second = kind(cross_attention, d_model, dropout)

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        x = self.first(x, lambda attention, y: attention(y, y, y, mask=tgt_mask))
        x = self.second(x, lambda attention, y: attention(y, memory, memory, mask=src_mask))
        return self.third(x, lambda feed, y: feed(y))


class Decoder(nn.ModuleList):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__(make_layer() for _ in range(num_layers))
        self.count = num_layers
        if norm == "pre":
            self.append(nn.LayerNorm(d_model))

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for i, part in enumerate(self):
            x = part(x, memory, src_mask, tgt_mask) if i < self.count else part(x)
        return x
