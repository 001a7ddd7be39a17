"""What a mask form is, and the canonical masks of an encoder-decoder."""

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
    def decode(self, mask: Tensor) -> Tensor:
        """The keep mask that `mask` stands for."""


def padding_keep(tokens: Tensor, pad: int) -> Tensor:
    """Which keys are no padding: tokens [B, T] -> bool [B, 1, 1, T], True = may be attended to."""
    return (tokens != pad)[:, None, None, :]  # [B, T] -> [B, 1, 1, T]


def causal_keep(size: int, device: torch.device | None = None) -> Tensor:
    """Each position sees itself and what came before: bool [1, 1, T, T], True = may be attended to.

    Vaswani et al. 2017, section 3.2.3.
    """
    keep = torch.ones(size, size, dtype=torch.bool, device=device).tril()
    return keep[None, None]  # [T, T] -> [1, 1, T, T]
