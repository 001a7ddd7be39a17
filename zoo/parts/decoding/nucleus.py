"""Sampling from the nucleus of the distribution."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.decoding.sample import SampleDecoding


class NucleusDecoding(SampleDecoding):
    """A draw from the smallest set of tokens whose mass reaches p: Holtzman et al. 2020, arXiv:1904.09751.

    Unlike with a fixed k, few tokens are left where the model is sure, and many where it is not. The most
    probable token always stays; p=1 is plain sampling. Draws, temperature and seeds as in `SampleDecoding`.
    """

    def __init__(self, p: float = 0.9, temperature: float = 1.0) -> None:
        """
        Args:
            p: the mass to be reached, from 0 to 1.
            temperature: as in `SampleDecoding`.

        Raises:
            ValueError: p is no probability, or temperature is not above 0.
        """
        super().__init__(temperature)
        if not 0 <= p <= 1:
            raise ValueError(f"p={p}: expected a probability, from 0 to 1.")
        self.p = p

    def keep(self, scores: Tensor) -> Tensor:
        """Every token whose more probable ones do not reach p without it: [B, V] -> bool [B, V]."""
        if self.p == 1:  # rounding in the sum must not cut off the tail
            return super().keep(scores)
        highest, order = scores.sort(dim=-1, descending=True, stable=True)
        mass = highest.softmax(-1)
        wanted = mass.cumsum(-1) - mass < self.p  # the mass before each
        wanted[:, 0] = True
        return wanted.scatter(1, order, wanted)  # back in the order of the vocabulary
