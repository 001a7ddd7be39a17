"""The feed-forward network gated by Swish."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.parts.feedforward.gated import GatedFeedForward


class SwigluFeedForward(GatedFeedForward):
    """(swish(x W) * (x V)) W_2 with swish(x) = x sigmoid(x), also called SiLU: Shazeer 2020, arXiv:2002.05202."""

    def activate(self, x: Tensor) -> Tensor:
        """x sigmoid(x)."""
        return F.silu(x)
