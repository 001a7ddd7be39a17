"""Sampling from the k most probable tokens."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.decoding.sample import SampleDecoding


class TopKDecoding(SampleDecoding):
    """A draw from the k most probable tokens, in proportion: Fan et al. 2018, arXiv:1805.04833.

    k=1 is greedy decoding. Draws, temperature and seeds as in `SampleDecoding`.
    """

    def __init__(self, k: int = 10, temperature: float = 1.0) -> None:
        """
        Args:
            k: how many tokens may be drawn; all, where the vocabulary is smaller.
            temperature: as in `SampleDecoding`.

        Raises:
            ValueError: k is below 1, or temperature is not above 0.
        """
        super().__init__(temperature)
        if k < 1:
            raise ValueError(f"k={k}: expected at least 1 token to draw from.")
        self.k = k

    def keep(self, scores: Tensor) -> Tensor:
        """The k highest, and of equals the first: [B, V] -> bool [B, V]."""
        least = scores.topk(min(self.k, scores.size(-1))).values[:, -1:]  # [B, k] -> [B, 1]
        above, equal = scores > least, scores == least
        room = self.k - above.sum(-1, keepdim=True)  # [B, 1]
        return above | (equal & (equal.cumsum(-1) <= room))
