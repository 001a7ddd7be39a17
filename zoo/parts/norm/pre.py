"""The norm before the sublayer."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.norm.base import NormPlacement, Sublayer


class PreNorm(NormPlacement):
    """x = x + dropout(f(norm(x))). x itself is never normalized, so a stack has a final norm.

    Xiong et al. 2020, arXiv:2002.04745.
    """

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """x [B, T, D] -> [B, T, D]."""
        for norm, sublayer in zip(self.norms, sublayers, strict=True):
            x = x + self.dropout(sublayer(norm(x)))
        return x
