"""Cross-entropy that keeps the logits' normaliser near 1."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.loss.base import SequenceLoss


class ZLoss(SequenceLoss):
    """-log softmax(logits)[label] + weight (log Z)^2, Z = sum_v exp(logits[v]), mean over labels that are not padding.

    The softmax does not feel a number that is added to all logits, so nothing else keeps them from drifting to
    where half types are coarse. Chowdhery et al. 2022 (PaLM), section 5, arXiv:2204.02311, with 1e-4.
    """

    def __init__(self, pad: int = 0, weight: float = 1e-4) -> None:
        """
        Args:
            pad: the label that is left out.
            weight: weight of the penalty; 0 gives cross-entropy.

        Raises:
            ValueError: weight is below 0.
        """
        super().__init__(pad)
        if not weight >= 0:
            raise ValueError(f"weight={weight}: expected at least 0, as in weight=0.0001.")
        self.weight = weight

    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        """Logits [B, L, V], labels [B, L] -> scalar."""
        wide = output.to(torch.promote_types(output.dtype, torch.float32))
        log_z = wide.logsumexp(-1)  # [B, L, V] -> [B, L]
        keep = labels != self.pad
        of_label = wide.gather(-1, labels.masked_fill(~keep, 0)[..., None])[..., 0]  # [B, L, V] -> [B, L]
        each = log_z - of_label + self.weight * log_z.square()
        return (each.masked_fill(~keep, 0.0).sum() / keep.sum()).to(output.dtype)
