"""Masks of ones and zeros."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.mask.base import MaskForm


class IntMask(MaskForm):
    """1 where keep, 0 elsewhere, int64: as in much code that compares a mask with 0."""

    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        """1 = may be attended to, 0 = may not."""
        return keep.long()

    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        """True where the mask is not 0."""
        return mask != 0
