"""No positional encoding."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.encoding.base import Encoding


class NoPositions(Encoding):
    """x itself, of any length: only the causal mask of the decoder tells positions apart.

    Kazemnejad et al. 2023, arXiv:2305.19466.
    """

    def __init__(self, d_model: int, max_len: int) -> None:
        """Takes what every encoding takes, and needs none of it."""
        super().__init__(max_len)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """x [B, T, D] -> x."""
        return x
