"""The feed-forward network of the paper."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.parts.feedforward.base import FeedForward


class ReluFeedForward(FeedForward):
    """max(0, x W_1 + b_1) W_2 + b_2: Vaswani et al. 2017, section 3.3, equation 2."""

    def activate(self, x: Tensor) -> Tensor:
        """max(0, x)."""
        return F.relu(x)
