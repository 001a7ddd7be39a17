"""Masks as counts of keys."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.mask.base import MaskForm
from zoo.parts.values import require

NO_PREFIX = (
    "mask=lengths counts visible keys from the first, but a hidden one comes before a visible one "
    "(such as padding at the start or in the middle). Put padding at the end, or use mask=bool."
)


class LengthsMask(MaskForm):
    """How many keys each query may attend to, counted from the first: int64 [.., Tq, 1].

    It holds what padding at the end, a causal mask, or both leave visible, and nothing else.
    """

    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        """keep [.., Tq, Tk] -> [.., Tq, 1]; the last axis is Tk itself, not broadcast.

        Raises:
            ValueError: a hidden key stands before a visible one; no length says that. What torch.compile or
                torch.export made of it raises RuntimeError; within `torch.vmap`, nothing can.
        """
        lengths = keep.sum(dim=-1, keepdim=True)  # [.., Tq, Tk] -> [.., Tq, 1]
        require((self.decode(lengths, keep.size(-1)) == keep).all(), NO_PREFIX)
        return lengths

    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        """[.., Tq, 1] -> [.., Tq, Tk], True for the first so many keys."""
        return torch.arange(num_keys, device=mask.device) < mask  # [Tk] < [.., Tq, 1] -> [.., Tq, Tk]
