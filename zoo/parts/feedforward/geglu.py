"""The feed-forward network gated by GELU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.parts.feedforward.gated import GatedFeedForward


class GegluFeedForward(GatedFeedForward):
    """(gelu(x W) * (x V)) W_2 with the exact gelu(x) = x Phi(x): Shazeer 2020, arXiv:2002.05202."""

    def activate(self, x: Tensor) -> Tensor:
        """x Phi(x), Phi the normal distribution function."""
        return F.gelu(x)
