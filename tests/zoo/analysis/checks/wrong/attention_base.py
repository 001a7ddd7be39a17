"""An attention to break."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.attention.base import WeightedAttention, masked_softmax


class Base(WeightedAttention):
    """The oracle in pieces that can be broken one at a time."""

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-2, -1) * self.head_width**-0.5

    def weights(self, scores: Tensor, mask: Tensor | None) -> Tensor:
        return masked_softmax(scores, mask)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        weights = self.weights(self.scores(q, k), mask)
        return self.dropout(weights) @ v, weights
