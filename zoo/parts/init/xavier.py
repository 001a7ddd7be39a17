"""Xavier-uniform weights."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.parts.init.base import Init


class XavierInit(Init):
    """U(-a, a) with a = sqrt(6 / (fan_in + fan_out)): Glorot and Bengio 2010, AISTATS."""

    def __init__(self, tables: bool = False) -> None:
        """Return whether embedding tables are drawn so too, or keep what their variant drew."""
        self.tables = tables

    def matrix(self, name: str, value: Tensor) -> None:
        """Fill the weight [out, in], in place."""
        nn.init.xavier_uniform_(value)

    def table(self, name: str, value: Tensor) -> None:
        """Fill the embedding table [V, D], in place, if asked for."""
        if self.tables:
            nn.init.xavier_uniform_(value)
