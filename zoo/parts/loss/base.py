"""The base class of losses."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn


class SequenceLoss(nn.Module, ABC):
    """A number for a batch of predicted tokens, the mean over labels that are not padding; NaN if all are."""

    def __init__(self, pad: int = 0) -> None:
        """`pad` is the label that is left out."""
        super().__init__()
        self.pad = pad

    @abstractmethod
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        """Return what the head gave, [B, L, V], and labels [B, L] -> scalar."""
