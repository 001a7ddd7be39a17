"""Layer norm, written out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.parts.norm_type.base import widened


class LayerNorm(nn.Module):
    """gain * (x - mean(x)) / sqrt(var(x) + eps) + bias over the last dimension, operation by operation.

    Ba et al. 2016, arXiv:1607.06450; the biased variance. Equal to nn.LayerNorm, which is several times as
    fast; parameters have its names, `weight` (the gain) and `bias`, both [D]. Half types are computed in
    float32.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        """Width D of what is normed, and what is added to its variance."""
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D], of the same type."""
        wide = widened(x)
        centred = wide - wide.mean(-1, keepdim=True)
        variance = centred.square().mean(-1, keepdim=True)  # [..., 1]
        return (self.weight * (centred * (variance + self.eps).rsqrt()) + self.bias).to(x.dtype)
