import torch
import torch.nn.functional as F
from torch import nn


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.c, self.b, self.a = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.feed, self.cross, self.own = feed_forward, cross_attention, self_attention
        self.p, self.where = dropout, norm

    def drop(self, x):
        return F.dropout(x, self.p, self.training)

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        if self.where == "pre":
            h = self.a(x)
            x = x + self.drop(self.own(mask=tgt_mask, value=h, key=h, query=h))
            x = x + self.drop(self.cross(mask=src_mask, value=memory, key=memory, query=self.b(x)))
            return x + self.drop(self.feed(self.c(x)))
        x = self.a(x + self.drop(self.own(query=x, key=x, value=x, mask=tgt_mask)))
        x = self.b(x + self.drop(self.cross(query=x, key=memory, value=memory, mask=src_mask)))
        return self.c(x + self.drop(self.feed(x)))


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        if norm == "pre":
            self.end = nn.LayerNorm(d_model)
        for i in range(num_layers):
            self.add_module(f"layer{i}", make_layer())
        self.n = num_layers

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for i in range(self.n):
            layer = getattr(self, f"layer{i}")
            x = layer(tgt_mask=tgt_mask, src_mask=src_mask, memory=memory, x=x)
        return self.end(x) if hasattr(self, "end") else x
