"""Activation checkpoints: every layer is computed again in the backward pass."""

from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint


class EncoderLayer(nn.Module):
    def __init__(
        self,
        self_attention: nn.Module,
        feed_forward: nn.Module,
        d_model: int,
        dropout: float = 0.0,
        norm: str = "post",
    ) -> None:
        super().__init__()
        make = partial(nn.LayerNorm, d_model, eps=1e-5)
        self.ff_norm, self.att_norm = make(), make()
        self.ff, self.att = feed_forward, self_attention
        # Exactly one of the two places is the identity.
        self.before = norm == "pre"
        self.noise = nn.Dropout(dropout)

    def _around(self, norm: nn.Module, f, x: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        first, last = (norm, nn.Identity()) if self.before else (nn.Identity(), norm)
        return last(torch.stack((x, self.noise(f(first(x))))).sum(0))

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        x = self._around(self.att_norm, lambda y: self.att(*(y,) * 3, mask=src_mask), x)
        return self._around(self.ff_norm, self.ff, x)


class Encoder(nn.Module):
    def __init__(  # type: ignore[no-untyped-def]
        self, make_layer, num_layers: int, d_model: int, norm: str = "post"
    ) -> None:
        super().__init__()
        self.count = num_layers
        for n in range(num_layers):
            self.register_module(f"layer{n}", make_layer())
        self.register_module("final", nn.LayerNorm(d_model) if norm == "pre" else None)

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        for n in range(self.count):
            layer = self.get_submodule(f"layer{n}")
            if torch.is_grad_enabled():
                x = checkpoint(layer, x, src_mask, use_reentrant=False)
            else:
                x = layer(x, src_mask)
        return x if self.final is None else self.final(x)
