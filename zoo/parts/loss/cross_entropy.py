"""Cross-entropy."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from zoo.parts.loss.base import SequenceLoss


class CrossEntropyLoss(SequenceLoss):
    """-log softmax(logits)[label], mean over labels that are not padding."""

    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        """Logits [B, L, V], labels [B, L] -> scalar."""
        return F.cross_entropy(
            output.flatten(0, 1), labels.flatten(), ignore_index=self.pad
        )  # [B*L, V], [B*L]
