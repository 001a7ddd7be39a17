"""Boolean masks the other way round, True = may not be attended to."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.mask.base import MaskForm


class DropMask(MaskForm):
    """not keep: bool, True = may NOT be attended to, as in `nn.MultiheadAttention`."""

    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        """`keep` inverted."""
        return ~keep

    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        """`mask` inverted."""
        return ~mask
