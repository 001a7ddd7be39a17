"""The base class of norm placements."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from torch import Tensor, nn

Sublayer = Callable[[Tensor], Tensor]


class NormPlacement(nn.Module, ABC):
    """The residual stream of one layer: how its sublayers, norms and dropout are strung together.

    A layer hands all its sublayers to `forward`, in order; each is a function [B, T, D] -> [B, T, D].

    Attributes:
        gain: factor on the initial weights of the values, the attention's output and the feed-forward
            network of this layer; the builder applies it.
    """

    gain = 1.0

    def __init__(self, make_norm: Callable[[], nn.Module], num_sublayers: int, dropout: float = 0.0) -> None:
        """`make_norm` makes one norm over the last dimension; an encoder layer has 2 sublayers, a decoder's 3."""
        super().__init__()
        self.norms = nn.ModuleList(make_norm() for _ in range(num_sublayers))
        self.dropout = nn.Dropout(dropout)

    @abstractmethod
    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """x [B, T, D] -> [B, T, D]."""
