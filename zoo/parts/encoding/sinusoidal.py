"""Fixed sines and cosines."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.encoding.base import Encoding


class SinusoidalPositions(Encoding):
    """PE[t, 2i] = sin(t / base^(2i/D)), PE[t, 2i+1] = cos(t / base^(2i/D)), added to x.

    Vaswani et al. 2017, section 3.5.
    """

    table: Tensor

    def __init__(self, d_model: int, max_len: int, base: float = 10000.0) -> None:
        """
        Args:
            d_model: width D; may be odd.
            max_len: longest sequence.
            base: the wavelengths run from 2 pi to base * 2 pi.
        """
        super().__init__(max_len)
        position = torch.arange(max_len, dtype=torch.float64)[:, None]  # [T] -> [T, 1]
        even = torch.arange(0, d_model, 2, dtype=torch.float64)
        angle = position / base ** (even / d_model)  # [T, 1] / [ceil(D/2)] -> [T, ceil(D/2)]
        pair = torch.stack((angle.sin(), angle.cos()), dim=-1)  # [T, ceil(D/2), 2]
        table = pair.flatten(1)[:, :d_model]  # [T, ceil(D/2), 2] -> [T, D]
        self.register_buffer("table", table.to(torch.get_default_dtype()), persistent=False)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """x [B, T, D] -> x + positions start .. start + T - 1. Raises ValueError if start + T > max_len."""
        return x + self.table[start : self.check_length(start + x.size(1))]
