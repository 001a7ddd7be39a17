"""The base class of losses with smoothed labels."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo.parts.loss.base import SequenceLoss


class SmoothedLoss(SequenceLoss):
    """A loss against labels that are not quite certain: Szegedy et al. 2016, section 7, arXiv:1512.00567.

    Where y is the label, the target distribution q over V tokens is

        q(y) = 1 - smoothing,  q(pad) = 0,  q(k) = smoothing / (V - 2) for every other token k

    Padding is never the right answer, so it gets nothing. With V = 2 there is no other token, and q(y) = 1.
    """

    def __init__(self, pad: int = 0, smoothing: float = 0.1) -> None:
        """
        Args:
            pad: the label that is left out, and the token that is given no mass.
            smoothing: the mass that the label loses; 0 leaves the labels as they are.

        Raises:
            ValueError: smoothing is below 0, or not below 1.
        """
        super().__init__(pad)
        if not 0 <= smoothing < 1:
            raise ValueError(f"smoothing={smoothing}: expected at least 0 and below 1, as in smoothing=0.1.")
        self.smoothing = smoothing

    def cross_entropy(self, log_probs: Tensor, labels: Tensor) -> Tensor:
        """-sum over k of q(k) log p(k), mean over labels that are not pad.

        log_probs [B, L, V], labels [B, L] -> scalar, in float32 where log_probs are narrower.
        """
        wide = torch.promote_types(log_probs.dtype, torch.float32)
        keep = labels != self.pad
        index = labels.masked_fill(~keep, 0).unsqueeze(-1)  # [B, L] -> [B, L, 1]
        of_label = log_probs.gather(-1, index).squeeze(-1).to(wide)  # [B, L, 1] -> [B, L]
        each = self._mass_of_each(log_probs.size(-1))
        if each == 0:
            entropy = -of_label
        else:
            is_pad = torch.arange(log_probs.size(-1), device=labels.device) == self.pad
            of_all = log_probs.masked_fill(is_pad, 0).sum(-1, dtype=wide)  # [B, L, V] -> [B, L]
            entropy = -(1 - self.smoothing) * of_label - each * (of_all - of_label)
        return entropy.masked_fill(~keep, 0).sum() / keep.sum()

    def target_entropy(self, vocabulary: int) -> float:
        """-sum over k of q(k) log q(k), for V tokens."""
        each = self._mass_of_each(vocabulary)
        if each == 0:
            return 0.0
        return -(1 - self.smoothing) * math.log1p(-self.smoothing) - self.smoothing * math.log(each)

    def _mass_of_each(self, vocabulary: int) -> float:
        """q of a token that is neither the label nor pad, for V tokens; 0 where there is none."""
        others = vocabulary - 1 - (0 <= self.pad < vocabulary)
        return self.smoothing / others if others > 0 else 0.0
