"""Random inputs, masks and weights for the cases, all from one generator."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

LONG, VERY_LONG = (66, 90), (514, 560)  # lengths beyond what people build in: 64, 512
Inputs = tuple[Tensor, Tensor, Tensor]
SPREAD = 1.5  # of weights: scores around 1 to 2, so that every wrong constant shows


class Draws:
    """A source of test inputs."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def integer(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))

    def not_divisible(self) -> tuple[int, int]:
        """A number, and one that does not divide it: a width, and how many heads it has not."""
        divisor = self.integer(3, 12)
        return divisor * self.integer(2, 50) + self.integer(1, divisor - 1), divisor

    def length(self, *, very: bool = False) -> int:
        """A long one: beyond 64, or beyond 512."""
        return self.integer(*(VERY_LONG if very else LONG))

    def inputs(
        self, lead: tuple[int, ...], queries: int, keys: int, width: int, value_width: int = 0
    ) -> Inputs:
        """Query, key and value, three different tensors."""
        return (
            self.normal(*lead, queries, width),
            self.normal(*lead, keys, width),
            self.normal(*lead, keys, value_width or width),
        )

    def mask(self, *shape: int) -> Tensor:
        """A bool mask in which every query may attend to something, and not to everything."""
        size = shape[-1]
        kept = torch.rand(shape, generator=self.generator) < 0.6
        rows = kept.view(-1, size)
        for row in rows:
            row[self.integer(0, size - 1)] = True
            if row.all() and size > 1:
                row[self.integer(0, size - 1)] = False
        return kept

    def closed(self, *shape: int) -> Tensor:
        """As `mask`, and the last key is hidden from every query."""
        *rows, keys = shape
        return torch.cat([self.mask(*rows, keys - 1), torch.zeros(*rows, 1, dtype=torch.bool)], -1)

    def padding(self, batch: int, keys: int) -> Tensor:
        """[B, 1, 1, Tk]: the sentences of a batch end at different places."""
        longest = max(keys - 1, 1)
        lengths = [1 + (longest - 1 + row) % longest for row in range(batch)]
        ends = torch.tensor(lengths).view(batch, 1, 1, 1)
        return torch.arange(keys).view(1, 1, 1, keys) < ends

    def weights(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
        """Canonical weights of these shapes."""
        drawn = {}
        for name, shape in shapes.items():
            size = SPREAD / math.sqrt(shape[-1]) if name.endswith("weight") else 0.5
            drawn[name] = self.normal(*shape) * size
        return drawn


def with_zeros(x: Tensor, start: int = 1) -> Tensor:
    """The same [..., D], where every third vector is all zeros, as the embedding of PAD may be.

    Args:
        start: the first of them.
    """
    changed = x.clone()
    changed.view(-1, x.size(-1))[start::3] = 0.0  # [N, D]
    return changed


def causal(size: int) -> Tensor:
    """bool [T, T], True = may be attended to."""
    return torch.ones(size, size, dtype=torch.bool).tril()


def additive(mask: Tensor) -> Tensor:
    """The same mask as numbers: 0 = may be attended to, -inf = may not."""
    return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(~mask, -math.inf)
