"""The base class of mask formats."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor


class MaskForm(ABC):
    """A form in which a mask travels through the model.

    The canonical form, *keep*, is bool, True = may be attended to, and broadcasts to [B, H, Tq, Tk].
    """

    @abstractmethod
    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        """The mask in this form. `dtype` is that of the scores it may be added to."""

    @abstractmethod
    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        """The keep mask that `mask` stands for; `num_keys` is Tk."""
