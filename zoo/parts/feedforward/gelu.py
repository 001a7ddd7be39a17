"""The feed-forward network with GELU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.parts.feedforward.base import FeedForward


class GeluFeedForward(FeedForward):
    """gelu(x W_1 + b_1) W_2 + b_2 with gelu(x) = x Phi(x): Hendrycks and Gimpel 2016, arXiv:1606.08415."""

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0, tanh: bool = False) -> None:
        """With `tanh`, Phi(x) is (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2, as in GPT-2; else it is exact."""
        super().__init__(d_model, d_ff, dropout)
        self.approximate = "tanh" if tanh else "none"

    def activate(self, x: Tensor) -> Tensor:
        """x Phi(x), Phi the normal distribution function."""
        return F.gelu(x, approximate=self.approximate)
