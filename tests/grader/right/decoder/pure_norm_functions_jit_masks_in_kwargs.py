"""Bare parameters in ParameterLists, norms as pure functions, sum and dropout in a TorchScript function; masks travel in **kwargs."""
import torch
import torch.nn.functional as F
from torch import nn


def residual(x: torch.Tensor, y: torch.Tensor, p: float, training: bool) -> torch.Tensor:
    return torch.dropout(y, p, training) + x


scripted_residual = torch.jit.script(residual)


def normed(params, x):
    gain, shift = params
    return F.layer_norm(x, (x.size(-1),), weight=gain, bias=shift)


def norm_params(d_model):
    return nn.ParameterList([nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))])


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.f = nn.ModuleList([self_attention, cross_attention, feed_forward])
        self.n = nn.ModuleList([norm_params(d_model) for _ in self.f])
        self.p = float(dropout)
        self.pre = norm == "pre"

    def _add(self, x, y):
        # TorchScript does not get on with inference mode
        add = residual if torch.is_inference_mode_enabled() else scripted_residual
        return add(x, y, self.p, self.training)

    def forward(self, x, memory, **masks):
        unknown = masks.keys() - {"src_mask", "tgt_mask"}
        if unknown:
            raise TypeError(f"forward got unknown arguments {sorted(unknown)}")
        calls = (
            lambda h: self.f[0](h, h, h, mask=masks.get("tgt_mask")),
            lambda h: self.f[1](h, memory, memory, mask=masks.get("src_mask")),
            self.f[2],
        )
        for params, f in zip(self.n, calls):
            if self.pre:
                x = self._add(x, f(normed(params, x)))
            else:
                x = normed(params, self._add(x, f(x)))
        return x


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleDict({str(i): make_layer() for i in range(num_layers)})
        self.last = norm_params(d_model) if norm == "pre" else None

    def forward(self, x, memory, **masks):
        for layer in self.layers.values():
            x = layer(x, memory, **masks)
        return x if self.last is None else normed(self.last, x)
