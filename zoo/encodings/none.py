"""No positional encoding."""

from __future__ import annotations

from torch import Tensor, nn


class NoPositions(nn.Module):
    """x itself: only the causal mask of the decoder tells positions apart.

    Kazemnejad et al. 2023, arXiv:2305.19466.
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        """Takes what every encoding takes, and needs none of it."""
        super().__init__()

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> x."""
        return x
