"""The feed-forward network with a squared ReLU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.parts.feedforward.base import FeedForward


class SquaredReluFeedForward(FeedForward):
    """max(0, x W_1 + b_1)^2 W_2 + b_2: So et al. 2021 (Primer), arXiv:2109.08668."""

    def activate(self, x: Tensor) -> Tensor:
        """max(0, x)^2."""
        return F.relu(x).square()
