"""Kullback-Leibler divergence from smoothed labels."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.loss.smoothing import SmoothedLoss


class KLLoss(SmoothedLoss):
    """KL(q || p) = sum over k of q(k) (log q(k) - log p(k)), mean over labels that are not padding.

    q is the distribution of `SmoothedLoss`, and log p is what the head gives: log-probabilities, not logits.
    It is the loss `label-smoothing` less the entropy of q, a constant: the gradient is the same, and a perfect
    prediction is worth 0. With smoothing=0 it is the negative log-likelihood of the label.
    """

    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        """Log-probabilities [B, L, V], labels [B, L] -> scalar."""
        divergence = self.cross_entropy(output, labels) - self.target_entropy(output.size(-1))
        return divergence.to(output.dtype)
