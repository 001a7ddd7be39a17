"""Sampling with temperature, top-k and top-p at once."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.decoding.nucleus import NucleusDecoding
from zoo.parts.decoding.sample import SampleDecoding
from zoo.parts.decoding.top_k import TopKDecoding


class FilteredDecoding(SampleDecoding):
    """A draw from the tokens that both `TopKDecoding` and `NucleusDecoding` keep; each is left out if not given."""

    def __init__(self, temperature: float = 1.0, k: int | None = None, p: float | None = None) -> None:
        """
        Args:
            temperature, k, p: as in `SampleDecoding`, `TopKDecoding` and `NucleusDecoding`.

        Raises:
            ValueError: as they do.
        """
        super().__init__(temperature)
        self.filters: list[SampleDecoding] = []
        if k is not None:
            self.filters.append(TopKDecoding(k, temperature))
        if p is not None:
            self.filters.append(NucleusDecoding(p, temperature))

    def keep(self, scores: Tensor) -> Tensor:
        """Return the tokens that all filters keep, the most probable one included: [B, V] -> bool [B, V]."""
        kept = torch.ones_like(scores, dtype=torch.bool)
        for one in self.filters:
            kept &= one.keep(scores)
        return kept
