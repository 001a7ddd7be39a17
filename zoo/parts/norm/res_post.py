"""The norm on the branch."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.norm.base import NormPlacement, Sublayer


class ResPostNorm(NormPlacement):
    """x = x + dropout(norm(f(x))): what a sublayer adds is normed, the stream is not.

    Liu et al. 2021 (Swin Transformer V2), section 3.2, arXiv:2111.09883.
    """

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """x [B, T, D] -> [B, T, D]."""
        for norm, sublayer in zip(self.norms, sublayers, strict=True):
            x = x + self.dropout(norm(sublayer(x)))
        return x
