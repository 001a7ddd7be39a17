"""Norms come from a mixin with a layer norm of its own; __getattr__ gives the parts their long names; the stack is recursive."""
from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn


class Norm(nn.Module):
    """Layer norm with bare parameters, shift first."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(width))
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        var, mean = torch.var_mean(x, -1, unbiased=False, keepdim=True)
        return torch.addcmul(self.shift, (x - mean) * (var + 1e-5).rsqrt(), self.gain)


class NormsMixin:
    norms: nn.ModuleList

    def make_norms(self, count: int, width: int) -> None:
        self.norms = nn.ModuleList(Norm(width) for _ in range(count))

    def wrap(self, place: str) -> Iterator:
        """Yields one function (x, f) -> x a sublayer."""
        for norm in self.norms:
            if place == "pre":
                yield lambda x, f, norm=norm: x + self.drop(f(norm(x)))
            else:
                yield lambda x, f, norm=norm: norm(x + self.drop(f(x)))


class DecoderLayer(NormsMixin, nn.Module):
    _short = {"self_attention": "sa", "cross_attention": "ca", "feed_forward": "ff"}

    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post") -> None:
        super().__init__()
        self.sa, self.ca, self.ff = self_attention, cross_attention, feed_forward
        self.make_norms(3, d_model)
        self.drop = nn.Dropout(p=dropout)
        self.place = norm

    def __getattr__(self, name: str):
        return super().__getattr__(type(self)._short.get(name, name))

    def forward(self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None) -> Tensor:
        around = self.wrap(self.place)
        x = next(around)(x, lambda h: self.self_attention(h, h, h, tgt_mask))
        x = next(around)(x, lambda h: self.cross_attention(h, memory, memory, src_mask))
        return next(around)(x, lambda h: self.feed_forward(h))


class _Link(nn.Module):
    """A linked list of layers."""

    def __init__(self, make_layer, left: int) -> None:
        super().__init__()
        self.layer = make_layer()
        self.next = _Link(make_layer, left - 1) if left > 1 else None

    def forward(self, x: Tensor, *rest) -> Tensor:
        x = self.layer(x, *rest)
        return x if self.next is None else self.next(x, *rest)


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers: int, d_model: int, norm: str = "post") -> None:
        super().__init__()
        self.chain = _Link(make_layer, num_layers)
        self.norm = Norm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None) -> Tensor:
        return self.norm(self.chain(x, memory, src_mask, tgt_mask))
