"""One learned vector a position."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.encodings.base import check_length


class LearnedPositions(nn.Module):
    """x + table[t], the table trained: Gehring et al. 2017, section 3.1, arXiv:1705.03122."""

    def __init__(self, d_model: int, max_len: int, std: float = 0.02) -> None:
        """
        Args:
            d_model: width D.
            max_len: longest sequence; later positions do not exist.
            std: standard deviation of the initial table.
        """
        super().__init__()
        self.max_len = max_len
        self.table = nn.Parameter(torch.empty(max_len, d_model).normal_(std=std))

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> x + positions. Raises ValueError if T > max_len."""
        return x + self.table[: check_length(x, self.max_len)]
