"""The feed-forward network with GELU."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.parts.feedforward.base import FeedForward


class GeluFeedForward(FeedForward):
    """gelu(x W_1 + b_1) W_2 + b_2 with the exact gelu(x) = x Phi(x): Hendrycks and Gimpel 2016, arXiv:1606.08415."""

    def activate(self, x: Tensor) -> Tensor:
        """x Phi(x), Phi the normal distribution function."""
        return F.gelu(x)
