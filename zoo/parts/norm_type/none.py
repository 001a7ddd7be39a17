"""No norm."""

from __future__ import annotations

from torch import nn


class NoNorm(nn.Identity):
    """x as it is: shows what a norm is good for, wherever the placement puts it."""

    def __init__(self, d_model: int) -> None:
        """Width D, of no consequence."""
        super().__init__()
