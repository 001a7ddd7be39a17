"""One learned vector a position."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.parts.encoding.base import Encoding


class LearnedPositions(Encoding):
    """x + table[t], the table trained: Gehring et al. 2017, section 3.1, arXiv:1705.03122."""

    def __init__(self, d_model: int, max_len: int, std: float = 0.02) -> None:
        """
        Args:
            d_model: width D.
            max_len: longest sequence; later positions do not exist.
            std: standard deviation of the initial table.
        """
        super().__init__(max_len)
        self.table = nn.Parameter(torch.empty(max_len, d_model).normal_(std=std))

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """x [B, T, D] -> x + positions start .. start + T - 1. Raises ValueError if start + T > max_len."""
        return x + self.table[start : self.check_length(start + x.size(1))]
