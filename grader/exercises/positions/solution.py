"""A solution of `positions.py`: short, plain, and correct in edge cases."""

import torch
from torch import Tensor, nn


def check_length(length: int, max_len: int) -> None:
    """Raises ValueError if there are no positions for so long an input."""
    if length > max_len:
        raise ValueError(f"the input has {length} positions, but max_len is {max_len}")


class SinusoidalPositions(nn.Module):
    """x + PE, with sin on even and cos on odd columns ("Attention Is All You Need", section 3.5).

    PE(t, 2i) = sin(t / 10000^(2i/d_model)), PE(t, 2i+1) = cos(t / 10000^(2i/d_model)).

    Args:
        d_model: width D, even or odd.
        max_len: largest length T; a longer input is a ValueError.
    """

    table: Tensor

    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        # Angles in float64: at position 5000 those of float32 are off in the fourth digit.
        position = torch.arange(max_len, dtype=torch.float64).unsqueeze(1)  # [max_len, 1]
        even = torch.arange(0, d_model, 2, dtype=torch.float64)  # [ceil(D / 2)], the 2i of the formula
        angle = position / 10000 ** (even / d_model)  # [max_len, ceil(D / 2)]
        table = torch.zeros(max_len, d_model)
        table[:, 0::2] = angle.sin()
        table[:, 1::2] = angle.cos()[:, : d_model // 2]  # an odd width has one cosine less
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> x + sinusoids, [B, T, D]. Raises ValueError if T > max_len."""
        check_length(x.size(1), self.table.size(0))
        return x + self.table[: x.size(1)]  # [B, T, D] + [T, D]


class LearnedPositions(nn.Module):
    """x + a trained row for each position ("Attention Is All You Need", section 3.5, Table 3 row E).

    Args:
        d_model: width D.
        max_len: largest length T and number of rows; a longer input is a ValueError.
    """

    def __init__(self, d_model: int, max_len: int = 512) -> None:
        super().__init__()
        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> x + rows 0 .. T-1 of the table, [B, T, D]. Raises ValueError if T > max_len."""
        check_length(x.size(1), self.table.size(0))
        return x + self.table[: x.size(1)]  # [B, T, D] + [T, D]
