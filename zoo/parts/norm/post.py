"""The norm after the residual sum."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.norm.base import NormPlacement, Sublayer


class PostNorm(NormPlacement):
    """x = norm(x + dropout(f(x))), as in Vaswani et al. 2017, section 3.1. A stack has no further norm."""

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """x [B, T, D] -> [B, T, D]."""
        for norm, sublayer in zip(self.norms, sublayers, strict=True):
            x = norm(x + self.dropout(sublayer(x)))
        return x
