"""Attention that fades with distance."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from zoo.parts.encoding.base import Encoding, Positions
from zoo.parts.encoding.bias import Bias, offsets


class AlibiPositions(Encoding):
    """-m_h |i - j| is added to the score of query i and key j; head h has the slope m_h.

    Slopes are 2^(-8/H), 2^(-16/H), ..., 2^-8. Where H is no power of two they are those of the next lower
    power, and then every second one of the next higher. Nothing is learned. The encoder, which sees both
    ways, is given the same bias on either side. Press et al. 2022, section 3, arXiv:2108.12409.
    """

    slopes: Tensor

    def __init__(self, d_model: int, max_len: int, num_heads: int) -> None:
        """Width D, longest sequence, heads H."""
        super().__init__(max_len)
        slopes = torch.tensor(alibi_slopes(num_heads), dtype=torch.get_default_dtype())
        self.register_buffer("slopes", slopes, persistent=False)

    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions:
        """For the last `num_queries` of `num_keys` positions. Raises ValueError if num_keys > max_len."""
        distance = offsets(num_queries, self.check_length(num_keys), like.device).abs().to(like)  # [Tq, Tk]
        slopes = self.slopes.to(like)[:, None, None]  # [H] -> [H, 1, 1]
        return Bias((-slopes * distance)[None])  # [H, Tq, Tk] -> [1, H, Tq, Tk]


def alibi_slopes(num_heads: int) -> list[float]:
    """The slope of each head: a geometric series, as the authors' published code extends it."""
    power = 2 ** math.floor(math.log2(num_heads))
    slopes: list[float] = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    between: list[float] = [2 ** (-8 * (h + 1) / (2 * power)) for h in range(0, 2 * power, 2)]
    return slopes + between[: num_heads - power]
