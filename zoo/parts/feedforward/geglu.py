"""The feed-forward network gated by GELU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.parts.feedforward.gated import GatedFeedForward


class GegluFeedForward(GatedFeedForward):
    """(gelu(x W) * (x V)) W_2 with gelu(x) = x Phi(x): Shazeer 2020, arXiv:2002.05202."""

    def __init__(
        self, d_model: int, d_ff: int, dropout: float = 0.0, bias: bool = False, tanh: bool = False
    ) -> None:
        """With `tanh`, Phi(x) is (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, as in Gemma; else it is exact."""
        super().__init__(d_model, d_ff, dropout, bias)
        self.approximate = "tanh" if tanh else "none"

    def activate(self, x: Tensor) -> Tensor:
        """x Phi(x), Phi the normal distribution function."""
        return F.gelu(x, approximate=self.approximate)
