"""The feed-forward network gated by a sigmoid."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.feedforward.gated import GatedFeedForward


class GluFeedForward(GatedFeedForward):
    """(sigmoid(x W) * (x V)) W_2: Shazeer 2020, arXiv:2002.05202."""

    def activate(self, x: Tensor) -> Tensor:
        """1 / (1 + exp(-x))."""
        return torch.sigmoid(x)
