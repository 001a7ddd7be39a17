"""Sampling."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.decoding.tokenwise import TokenwiseDecoding

MIN_TEMPERATURE = 1e-6
"""Below it nothing but the most probable token is left anyway, and float32 overflows."""


class SampleDecoding(TokenwiseDecoding):
    """A draw from the model's distribution at each step, until every row has ended.

        y[t] ~ softmax(log p(. | y[<t], x) / temperature)

    A temperature below 1 sharpens the distribution, one above 1 flattens it; towards 0 this is greedy
    decoding. Other variants leave out part of the distribution first (`keep`), after the temperature.

    Draws come from torch's global generator of the device: `torch.manual_seed` repeats them, for the same
    batch. Rows draw independently, but one after the other: an answer is another one in another batch.
    """

    def __init__(self, temperature: float = 1.0) -> None:
        """
        Args:
            temperature: what log-probabilities are divided by.

        Raises:
            ValueError: temperature is not above 0.
        """
        if not temperature >= MIN_TEMPERATURE:
            raise ValueError(
                f"temperature={temperature}: expected at least {MIN_TEMPERATURE:g}. Use decoding=greedy for "
                "temperature 0."
            )
        self.temperature = temperature

    def choose(self, output: Tensor) -> Tensor:
        """[B, V] -> [B]."""
        scores = output.to(torch.promote_types(output.dtype, torch.float32))
        scores = (scores - scores.amax(-1, keepdim=True)) / self.temperature
        probabilities = scores.masked_fill(~self.keep(scores), float("-inf")).softmax(-1)
        return torch.multinomial(probabilities, num_samples=1).squeeze(-1)  # [B, 1] -> [B]

    def keep(self, scores: Tensor) -> Tensor:
        """Return which tokens may be drawn, at least one in every row.

        scores [B, V] -> bool [B, V]. Scores are log-probabilities at this temperature, less the highest: that
        one is 0.
        """
        return torch.ones_like(scores, dtype=torch.bool)
