"""Sampling from tokens that are not much less probable than the best."""

from __future__ import annotations

import math

from torch import Tensor

from zoo.parts.decoding.sample import SampleDecoding


class MinPDecoding(SampleDecoding):
    """A draw from the tokens at least p times as probable as the best: Nguyen et al. 2024, arXiv:2407.01082.

    The bar follows the model's certainty. p=0 is plain sampling; p=1 leaves the best alone, and its equals.
    Draws, temperature and seeds as in `SampleDecoding`.
    """

    def __init__(self, p: float = 0.1, temperature: float = 1.0) -> None:
        """
        Args:
            p: the smallest share of the highest probability that a token must have, from 0 to 1.
            temperature: as in `SampleDecoding`.

        Raises:
            ValueError: p is no share, or temperature is not above 0.
        """
        super().__init__(temperature)
        if not 0 <= p <= 1:
            raise ValueError(f"p={p}: expected a share of the highest probability, from 0 to 1.")
        self.p = p

    def keep(self, scores: Tensor) -> Tensor:
        """p(v) >= p max_w p(w): [B, V] -> bool [B, V]."""
        return scores >= (math.log(self.p) if self.p > 0 else -math.inf)
