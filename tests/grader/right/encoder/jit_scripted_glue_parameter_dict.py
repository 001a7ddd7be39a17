"""Bare gain and shift in a ParameterDict; the glue (norm, sum, dropout) is torch.jit.script functions; prints and warnings of a beginner."""
import warnings
from typing import Dict

import torch
import torch.nn as nn


def layer_norm(x: torch.Tensor, gain: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    m = x.mean(dim=-1, keepdim=True)
    v = (x - m).pow(2).mean(dim=-1, keepdim=True)
    return (x - m) / torch.sqrt(v + 1e-5) * gain + shift


def add_dropped(x: torch.Tensor, y: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    return x + torch.dropout(y, p, training)


_scripted = {f.__name__: torch.jit.script(f) for f in (layer_norm, add_dropped)}


def call(f, *args):
    # TorchScript does not get on with inference mode
    return (f if torch.is_inference_mode_enabled() else _scripted[f.__name__])(*args)


def make_norm(d: int) -> Dict[str, nn.Parameter]:
    return {"gain": nn.Parameter(torch.ones(d)), "shift": nn.Parameter(torch.zeros(d))}


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        if norm not in ("pre", "post"):
            warnings.warn(f"unknown norm {norm!r}")
        self.self_attention = self_attention
        self.feed_forward = feed_forward
        self.norm1 = nn.ParameterDict(make_norm(d_model))
        self.norm2 = nn.ParameterDict(make_norm(d_model))
        self.p = float(dropout)
        self.kind = norm

    def forward(self, x, src_mask=None):
        n1 = (self.norm1["gain"], self.norm1["shift"])
        n2 = (self.norm2["gain"], self.norm2["shift"])
        a = call(layer_norm, x, *n1) if self.kind == "pre" else x
        x = call(add_dropped, x, self.self_attention(a, a, a, src_mask), self.p, self.training)
        if self.kind == "post":
            x = call(layer_norm, x, *n1)
        a = call(layer_norm, x, *n2) if self.kind == "pre" else x
        x = call(add_dropped, x, self.feed_forward(a), self.p, self.training)
        if self.kind == "post":
            x = call(layer_norm, x, *n2)
        return x


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleDict()
        for i in range(num_layers):
            self.layers["layer%d" % i] = make_layer()
        print("the encoder has", len(self.layers), "layers")
        self.last = nn.ParameterDict(make_norm(d_model)) if norm == "pre" else None

    def forward(self, x, src_mask=None):
        for name in self.layers:
            x = self.layers[name](x, src_mask)
        if self.last is not None:
            x = call(layer_norm, x, self.last["gain"], self.last["shift"])
        return x
