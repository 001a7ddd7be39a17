"""Annotated Transformer manner: sublayer connections that take lambdas; own LayerNorm, cloned with copy.deepcopy."""
import copy

import torch
import torch.nn as nn


def clones(module, N):
    "Produce N identical layers."
    return nn.ModuleList([copy.deepcopy(module) for _ in range(N)])


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(features))
        self.b_2 = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        var = (centred * centred).mean(-1, keepdim=True)
        return self.a_2 * centred * torch.rsqrt(var + self.eps) + self.b_2


class SublayerConnection(nn.Module):
    def __init__(self, size, dropout, pre):
        super().__init__()
        self.norm = LayerNorm(size)
        self.dropout = nn.Dropout(dropout)
        self.pre = pre

    def forward(self, x, sublayer):
        if self.pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderLayer(nn.Module):
    "Encoder is made up of self-attn and feed forward."

    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.self_attn = self_attention
        self.feed_forward = feed_forward
        self.sublayer = clones(SublayerConnection(d_model, dropout, norm == "pre"), 2)
        self.size = d_model

    def forward(self, x, src_mask=None):
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, src_mask))
        return self.sublayer[1](x, self.feed_forward)


class Encoder(nn.Module):
    "Core encoder is a stack of N layers."

    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)])
        self.norm = LayerNorm(d_model) if norm == "pre" else None

    def forward(self, x, src_mask=None):
        for layer in self.layers:
            x = layer(x, src_mask)
        return x if self.norm is None else self.norm(x)
