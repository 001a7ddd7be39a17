"""Mask forms with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.mask.bool import BoolMask


@wrong("mask", "decoding inverts encoding", "is another after encoding and decoding")
class MaskTurnedOnce(BoolMask):
    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        return ~keep


@wrong("mask", "rejects a mask that it cannot represent", "without an error")
class MaskAsLengths(BoolMask):
    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        return keep.sum(-1, keepdim=True)

    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        return torch.arange(num_keys) < mask


@wrong("mask", "does not modify its input masks", "changed in place")
class MaskInPlace(BoolMask):
    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        before = mask.clone()
        mask |= True
        return before
