"""Encoder as a fold over layers; a layer is a fold over wrapped sublayers."""
from functools import reduce

import torch
from torch import Tensor, nn
from torch.nn import functional as F


def _standardize(x: Tensor, gain: Tensor, bias: Tensor, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, gain.shape, gain, bias, eps)


def _post(f, norm, drop):
    return lambda x: norm(x + drop(f(x)))


def _pre(f, norm, drop):
    return lambda x: x + drop(f(norm(x)))


WRAPPERS = {"post": _post, "pre": _pre}


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post") -> None:
        super().__init__()
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        self.gains = nn.ParameterList([torch.ones(d_model) for _ in range(2)])
        self.biases = nn.ParameterList([torch.zeros(d_model) for _ in range(2)])
        self.rate = dropout
        self.wrap = WRAPPERS[norm]

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        attend = lambda h: self.self_attention(h, h, h, src_mask)
        drop = lambda h: F.dropout(h, self.rate, self.training)
        norms = [lambda h, g=g, b=b: _standardize(h, g, b) for g, b in zip(self.gains, self.biases)]
        steps = [self.wrap(f, norm, drop) for f, norm in zip((attend, self.feed_forward), norms)]
        return reduce(lambda carry, step: step(carry), steps, x)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post") -> None:
        super().__init__()
        self.layers = nn.ModuleList(make_layer() for _ in range(num_layers))
        self.final = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        carry = reduce(lambda h, layer: layer(h, src_mask), self.layers, x)
        return self.final(carry)
