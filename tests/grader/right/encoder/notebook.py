"""Notebook manner: methods `pre` and `post` found by getattr, a while loop over the layers."""

from torch import nn
import torch.nn.functional as F


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.att, self.ff, self.p, self.how = self_attention, feed_forward, dropout, norm
        self.n1, self.n2 = (nn.LayerNorm(d_model) for _ in "12")

    def drop(self, x):
        return F.dropout(x, self.p, self.training)

    def forward(self, x, src_mask=None):
        return getattr(self, self.how)(x, src_mask)

    def pre(self, x, m):
        h = self.n1(x)
        x = x + self.drop(self.att(h, h, h, m))
        h = self.n2(x)
        x = x + self.drop(self.ff(h))
        return x

    def post(self, x, m):
        a = self.drop(self.att(x, x, x, m))
        x = self.n1(x + a)
        f = self.drop(self.ff(x))
        return self.n2(x + f)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.N = num_layers
        for i in range(num_layers):
            self.add_module(f"l{i}", make_layer())
        if norm == "pre":
            self.last = nn.LayerNorm(d_model)

    def forward(self, x, src_mask=None):
        i = 0
        while i < self.N:
            x = getattr(self, f"l{i}")(x, src_mask)
            i += 1
        return self.last(x) if hasattr(self, "last") else x
