"""torch's own layer norm."""

from __future__ import annotations

from torch import nn


class TorchLayerNorm(nn.LayerNorm):
    """gain * (x - mean(x)) / sqrt(var(x) + eps) + bias over the last dimension, in one kernel.

    Ba et al. 2016, arXiv:1607.06450; the biased variance.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        """Width D of what is normed, and what is added to its variance."""
        super().__init__(d_model, eps=eps)
