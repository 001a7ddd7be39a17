"""Positions that act by a bias on the scores, the same for every query's content."""

from __future__ import annotations

from torch import Tensor

from zoo.encodings.base import Positions


class Bias(Positions):
    """Adds a bias that depends on head and positions alone."""

    def __init__(self, values: Tensor) -> None:
        """`values` broadcasts to [B, H, Tq, Tk]."""
        self.values = values

    def bias(self, q: Tensor) -> Tensor:
        """The bias, in q's dtype."""
        return self.values.to(q.dtype)
