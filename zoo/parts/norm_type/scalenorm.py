"""Vectors of one learned length."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.parts.norm_type.base import widened


class ScaleNorm(nn.Module):
    """g x / max(||x||, eps) over the last dimension, g one learned number that starts at sqrt(D).

    Nguyen and Salazar 2019, arXiv:1910.05895: every vector gets the same length. g is called `scale`. Half
    types are computed in float32.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        """Width D of what is normed, and the least length that it is divided by."""
        super().__init__()
        self.eps = eps
        self.scale = nn.Parameter(torch.tensor(d_model**0.5))

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D], of the same type."""
        wide = widened(x)
        length: Tensor = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)  # [..., 1]
        return (wide * (self.scale / length.clamp(min=self.eps))).to(x.dtype)
