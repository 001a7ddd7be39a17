"""Position-wise feed-forward network of the sequence-to-sequence library."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F

Activation = Callable[[Tensor], Tensor]


class ActivationRegistry:
    def __init__(self) -> None:
        self._entries: dict[str, Activation] = {}

    def register(self, name: str) -> Callable[[Activation], Activation]:
        def keep(function: Activation) -> Activation:
            self._entries[name] = function
            return function

        return keep

    def get(self, name: str) -> Activation:
        try:
            return self._entries[name]
        except KeyError:
            raise ValueError(f"unknown activation {name!r}; known: {sorted(self._entries)}") from None


ACTIVATIONS = ActivationRegistry()


@ACTIVATIONS.register("relu")
def _relu(x: Tensor) -> Tensor:
    return x.clamp(min=0)


@ACTIVATIONS.register("gelu")
def _gelu(x: Tensor) -> Tensor:
    return F.gelu(x)


@ACTIVATIONS.register("silu")
def _silu(x: Tensor) -> Tensor:
    return x * torch.sigmoid(x)


@dataclass(frozen=True)
class FeedForwardConfig:
    d_model: int
    d_ff: int
    dropout: float = 0.0
    activation: str = field(default="relu")

    @property
    def layers(self) -> tuple[tuple[str, int, int], ...]:
        """Name, width of the input, and width of the output of each layer."""
        return ("expand", self.d_model, self.d_ff), ("contract", self.d_ff, self.d_model)


class Affine(nn.Module):
    """x W + b, with W [in, out] as in the paper's formula."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.empty(out_features))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.in_features)
        nn.init.uniform_(self.weight, -bound, bound)
        nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        assert x.size(-1) == self.in_features, f"expected {self.in_features} columns, got {x.size(-1)}"
        return torch.einsum("...i,io->...o", x, self.weight) + self.bias


class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0, chunk_rows: int = 16) -> None:
        super().__init__()
        self.config = FeedForwardConfig(d_model, d_ff, dropout)
        self.chunk_rows = chunk_rows
        self.layers = nn.ModuleDict(
            {name: Affine(inputs, outputs) for name, inputs, outputs in self.config.layers}
        )
        self.activation = ACTIVATIONS.get(self.config.activation)
        self.dropout = nn.Dropout(self.config.dropout)

    def _hidden(self, rows: Tensor) -> Tensor:
        expanded = self.layers["expand"](rows)
        activated = self.activation(expanded)
        return self.dropout(activated)

    def _apply_rows(self, rows: Tensor) -> Tensor:
        hidden = self._hidden(rows)
        assert hidden.size(-1) == self.config.d_ff
        return self.layers["contract"](hidden)

    def forward(self, x: Tensor) -> Tensor:
        leading = x.shape[:-1]
        rows = x.reshape(-1, self.config.d_model)
        if rows.size(0) <= self.chunk_rows:
            return self._apply_rows(rows).unflatten(0, leading)
        pieces = [self._apply_rows(piece) for piece in rows.split(self.chunk_rows)]
        return torch.cat(pieces, dim=0).unflatten(0, leading)
