"""Masks that are added to the scores."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.mask.base import MaskForm


class AdditiveMask(MaskForm):
    """0 where keep, -inf elsewhere: a float mask that is added to the scores before the softmax."""

    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        """0 = may be attended to, -inf = may not, in `dtype`."""
        return torch.zeros(keep.shape, dtype=dtype, device=keep.device).masked_fill(~keep, float("-inf"))

    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        """True where the mask is not -inf."""
        return mask != float("-inf")
