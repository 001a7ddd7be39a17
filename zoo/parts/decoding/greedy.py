"""Greedy decoding."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.decoding.tokenwise import TokenwiseDecoding


class GreedyDecoding(TokenwiseDecoding):
    """The most probable token at each step, until every row has ended; the first of equals."""

    def choose(self, output: Tensor) -> Tensor:
        """[B, V] -> [B]."""
        return output.argmax(dim=-1)
