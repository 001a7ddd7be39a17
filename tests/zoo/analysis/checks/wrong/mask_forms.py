"""Mask forms with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.mask.bool import BoolMask


@wrong("mask", "what is encoded is decoded again", "is another after encoding and decoding")
class MaskTurnedOnce(BoolMask):
    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        return ~keep


@wrong("mask", "a mask that it cannot say is refused, not changed", "nothing was said")
class MaskAsLengths(BoolMask):
    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        return keep.sum(-1, keepdim=True)

    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        return torch.arange(num_keys) < mask


@wrong("mask", "masks are left as they were", "changed in place")
class MaskInPlace(BoolMask):
    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        before = mask.clone()
        mask |= True
        return before
