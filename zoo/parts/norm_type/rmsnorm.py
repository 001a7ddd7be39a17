"""Root mean square norm."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.parts.norm_type.base import widened


class RMSNorm(nn.Module):
    """gain * x / sqrt(mean(x^2) + eps) over the last dimension: layer norm without mean and bias.

    Zhang and Sennrich 2019, arXiv:1910.07467. The gain [D] is called `weight`, as in nn.RMSNorm. Half types
    are computed in float32.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        """Width D of what is normed, and what is added to its mean square."""
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D], of the same type."""
        wide = widened(x)
        # no vector norm, which has no second derivative at 0; and no square(), whose backward pass is slower
        mean_square = (wide * wide).sum(-1, keepdim=True) / x.size(-1)  # [..., 1]
        return (self.weight * (wide * (mean_square + self.eps).rsqrt())).to(x.dtype)
