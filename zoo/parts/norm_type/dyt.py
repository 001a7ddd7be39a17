"""Dynamic tanh: no statistics at all."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class DynamicTanh(nn.Module):
    """gain * tanh(alpha x) + bias, elementwise; alpha is one learned number, gain and bias [D].

    Zhu et al. 2025, arXiv:2503.10622: large values are pressed together as by a norm, yet no element depends
    on another. Gain and bias are called `weight` and `bias`, as in nn.LayerNorm.
    """

    def __init__(self, d_model: int, alpha: float = 0.5) -> None:
        """Width D, and initial value of alpha."""
        super().__init__()
        self.alpha = nn.Parameter(torch.tensor(alpha))
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D], of the same type."""
        return (self.weight * torch.tanh(self.alpha * x) + self.bias).to(x.dtype)
