"""What the positional encodings have in common."""

from __future__ import annotations

from torch import Tensor


def check_length(x: Tensor, max_len: int) -> int:
    """The length T of x [B, T, D]. Raises ValueError if T > max_len."""
    length = x.size(1)
    if length > max_len:
        raise ValueError(
            f"The sequence has {length} positions, but the encoding was made for max_len={max_len}."
        )
    return length
