"""The wrappers are dataclasses (nn.Module.__init__ is run in __new__); LayerNorm calls torch.native_layer_norm."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


class DataModule(nn.Module):
    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        nn.Module.__init__(self)
        return self


@dataclass(eq=False, repr=False)
class LayerNorm(DataModule):
    d_model: int
    eps: float = 1e-5

    def __post_init__(self) -> None:
        self.weight = nn.Parameter(torch.ones(self.d_model))
        self.bias = nn.Parameter(torch.zeros(self.d_model))

    def forward(self, x: Tensor) -> Tensor:
        out, *_ = torch.native_layer_norm(x, [self.d_model], self.weight, self.bias, self.eps)
        return out


@dataclass(eq=False, repr=False)
class PreNorm(DataModule):
    norm: nn.Module
    sublayer: nn.Module
    dropout: float = 0.0

    def __post_init__(self) -> None:
        self.drop = nn.Dropout(self.dropout)

    def forward(self, x: Tensor, *args, **kwargs) -> Tensor:
        return x + self.drop(self.sublayer(self.norm(x), *args, **kwargs))


@dataclass(eq=False, repr=False)
class PostNorm(PreNorm):
    def forward(self, x: Tensor, *args, **kwargs) -> Tensor:
        return self.norm(x + self.drop(self.sublayer(x, *args, **kwargs)))
