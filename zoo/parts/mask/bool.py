"""Boolean masks, True = may be attended to."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.mask.base import MaskForm


class BoolMask(MaskForm):
    """keep itself: bool, True = may be attended to, as in `F.scaled_dot_product_attention`."""

    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        """`keep` as it is."""
        return keep

    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        """`mask` as it is."""
        return mask
