"""Normal weights of one small size."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.init.base import Init


class SmallNormalInit(Init):
    """N(0, 2 / (5 D)) for every matrix: Nguyen and Salazar 2019 (SmallInit), arXiv:1910.05895.

    It is what Xavier's normal initialisation gives the matrices of a feed-forward network with d_ff = 4 D;
    those of the attention, which would be larger, get it too. Biases are zero, tables keep their own.
    """

    def __init__(self, d_model: int) -> None:
        """Width D."""
        self.std = (2 / (5 * d_model)) ** 0.5

    def matrix(self, name: str, value: Tensor) -> None:
        """Fill the weight [out, in], in place."""
        value.normal_(std=self.std)
