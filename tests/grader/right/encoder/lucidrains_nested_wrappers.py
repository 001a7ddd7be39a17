"""lucidrains manner: Residual / PreNorm / PostNorm wrappers nested around the parts, a ModuleList of pairs, no mask argument where none is."""
import torch
from torch import nn


def exists(val):
    return val is not None


class PreNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, **kwargs):
        return self.fn(self.norm(x), **kwargs) + x


class PostNorm(nn.Module):
    def __init__(self, dim, fn):
        super().__init__()
        self.fn = fn
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, **kwargs):
        return self.norm(self.fn(x, **kwargs) + x)


class Drop(nn.Module):
    def __init__(self, fn, p):
        super().__init__()
        self.fn = fn
        self.drop = nn.Dropout(p)

    def forward(self, x, **kwargs):
        return self.drop(self.fn(x, **kwargs))


class SelfAttend(nn.Module):
    def __init__(self, attn):
        super().__init__()
        self.attn = attn

    def forward(self, x, mask = None):
        if not exists(mask):
            return self.attn(x, x, x)
        return self.attn(x, x, x, mask)


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout = 0., norm = 'post'):
        super().__init__()
        wrap = PreNorm if norm == 'pre' else PostNorm
        self.layers = nn.ModuleList([
            wrap(d_model, Drop(SelfAttend(self_attention), dropout)),
            wrap(d_model, Drop(feed_forward, dropout)),
        ])

    def forward(self, x, src_mask = None):
        attn, ff = self.layers
        return ff(attn(x, mask = src_mask))


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm = 'post'):
        super().__init__()
        self.depth = num_layers
        self.layers = nn.ModuleList([])
        for _ in range(num_layers):
            self.layers.append(make_layer())
        self.norm = nn.LayerNorm(d_model) if norm == 'pre' else nn.Identity()

    def forward(self, x, src_mask = None):
        for layer in self.layers:
            x = layer(x, src_mask = src_mask) if exists(src_mask) else layer(x)
        return self.norm(x)
