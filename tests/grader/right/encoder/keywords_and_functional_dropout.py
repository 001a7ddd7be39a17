import torch
import torch.nn.functional as F
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.ln_ffn = nn.LayerNorm(d_model)
        self.ffn = feed_forward
        self.ln_att = nn.LayerNorm(d_model)
        self.att = self_attention
        self.p = dropout
        self.where = norm

    def drop(self, x):
        return F.dropout(x, self.p, self.training)

    def forward(self, x, src_mask=None):
        if self.where == "pre":
            h = self.ln_att(x)
            x = self.drop(self.att(mask=src_mask, value=h, key=h, query=h)) + x
            return self.drop(self.ffn(self.ln_ffn(x))) + x
        x = self.ln_att(self.drop(self.att(query=x, key=x, value=x, mask=src_mask)) + x)
        return self.ln_ffn(self.drop(self.ffn(x)) + x)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        if norm == "pre":
            self.end = nn.LayerNorm(d_model)
        for i in range(num_layers):
            self.add_module(f"layer{i}", make_layer())
        self.n = num_layers

    def forward(self, x, src_mask=None):
        for i in range(self.n):
            x = getattr(self, f"layer{i}")(x=x, src_mask=src_mask)
        return self.end(x) if hasattr(self, "end") else x
