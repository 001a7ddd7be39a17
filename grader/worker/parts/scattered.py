"""A tensor that does not lie in one piece of memory, which no frame can carry: it is made where it is used."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .base import Part


class Scattered(Part):
    """Stands for a non-contiguous tensor: its first two dimensions are exchanged in memory.

    Args:
        shape: of two dimensions or more; the numbers are its weight "values".
        whole: whether they are ids (int64).
    """

    def __init__(self, shape: tuple[int, ...], whole: bool = False) -> None:
        super().__init__()
        self.judge_values = nn.Parameter(torch.zeros(tuple(shape)))
        self._whole = whole

    def handed(self) -> Tensor:
        values = self.judge_values.detach()
        values = values.long() if self._whole else values
        return values.transpose(0, 1).contiguous().transpose(0, 1)  # [a, b, ...], laid down as [b, a, ...]
