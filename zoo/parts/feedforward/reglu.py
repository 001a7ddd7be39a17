"""The feed-forward network gated by a ReLU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.parts.feedforward.gated import GatedFeedForward


class RegluFeedForward(GatedFeedForward):
    """(max(0, x W) * (x V)) W_2: Shazeer 2020, arXiv:2002.05202."""

    def activate(self, x: Tensor) -> Tensor:
        """max(0, x)."""
        return F.relu(x)
