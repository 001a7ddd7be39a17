"""No norm: each branch with a learned factor that starts at zero."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from zoo.parts.norm.base import NormPlacement, Sublayer


class ReZero(NormPlacement):
    """x = x + alpha_i dropout(f_i(x)), alpha_i learned, one number a sublayer; no norm anywhere.

    Bachlechner et al. 2020, arXiv:2003.04887. With the paper's alpha = 0 a stack starts as the identity. No
    gradient then reaches the weights of its sublayers, nor the memory, in the very first step: only alpha,
    head and target embedding move; from the second step on everything does.
    """

    def __init__(
        self,
        make_norm: Callable[[], nn.Module],
        num_sublayers: int,
        dropout: float = 0.0,
        start: float = 0.0,
    ) -> None:
        """
        Args:
            make_norm: not used; the chosen norm stands nowhere.
            num_sublayers: how many sublayers `forward` will be given.
            dropout: probability on each sublayer's output, in train mode.
            start: initial value of every alpha.
        """
        super().__init__(make_norm, 0, dropout)
        self.alphas = nn.Parameter(torch.full((num_sublayers,), start))

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """x [B, T, D] -> [B, T, D]. Raises ValueError for another number of sublayers."""
        for alpha, sublayer in zip(self.alphas, sublayers, strict=True):
            x = x + alpha * self.dropout(sublayer(x))
        return x
