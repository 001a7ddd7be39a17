"""Positional encodings of the sequence-to-sequence library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class PositionConfig:
    d_model: int
    max_len: int
    base: float = 10000.0

    @property
    def num_pairs(self) -> int:
        """How many sines there are; an odd width ends in one that has no cosine."""
        return (self.d_model + 1) // 2

    @property
    def num_cosines(self) -> int:
        return self.d_model // 2

    @property
    def shape(self) -> tuple[int, int]:
        return self.max_len, self.d_model


@lru_cache(maxsize=16)
def wavelengths(config: PositionConfig) -> tuple[float, ...]:
    """base^(2i / d_model) for each pair i of columns."""
    return tuple(config.base ** (2 * pair / config.d_model) for pair in range(config.num_pairs))


def make_angles(config: PositionConfig) -> Tensor:
    """Angle of each position and pair, [max_len, num_pairs], in double precision."""
    steps = torch.arange(config.max_len, dtype=torch.float64)
    divisors = torch.tensor(wavelengths(config), dtype=torch.float64)
    return steps.unsqueeze(1) / divisors.unsqueeze(0)


def make_table(config: PositionConfig) -> Tensor:
    angles = make_angles(config)
    table = torch.empty(config.shape, dtype=torch.float64)
    even = torch.arange(0, config.d_model, 2)
    odd = torch.arange(1, config.d_model, 2)
    table.index_copy_(1, even, torch.sin(angles))
    table.index_copy_(1, odd, torch.cos(angles[:, : config.num_cosines]))
    return table.to(torch.get_default_dtype())


class AddedPositions(nn.Module, ABC):
    """Adds a row of a table to each position."""

    def __init__(self, config: PositionConfig) -> None:
        super().__init__()
        self.config = config
        self.setup()

    @abstractmethod
    def setup(self) -> None:
        """Makes the table."""

    @abstractmethod
    def rows(self, length: int) -> Tensor:
        """The first `length` rows, [length, D]."""

    def _check(self, x: Tensor) -> int:
        assert x.dim() == 3, f"expected [B, T, D], got {tuple(x.shape)}"
        _, length, width = x.shape
        if length > self.config.max_len:
            raise ValueError(f"length {length} is more than max_len {self.config.max_len}")
        assert width == self.config.d_model
        return length

    def forward(self, x: Tensor) -> Tensor:
        length = self._check(x)
        added = self.rows(length).unsqueeze(0).expand_as(x)
        return torch.add(x, added)


class SinusoidalPositions(AddedPositions):
    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__(PositionConfig(d_model, max_len))

    def setup(self) -> None:
        self.register_buffer("table", make_table(self.config), persistent=False)

    def rows(self, length: int) -> Tensor:
        return self.table.narrow(0, 0, length)


class LearnedPositions(AddedPositions):
    def __init__(self, d_model: int, max_len: int = 512) -> None:
        super().__init__(PositionConfig(d_model, max_len))

    def setup(self) -> None:
        self.embedding = nn.Embedding(*self.config.shape)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.normal_(self.embedding.weight, std=self.config.d_model**-0.5)

    def rows(self, length: int) -> Tensor:
        index = torch.arange(length, device=self.embedding.weight.device)
        return self.embedding(index)
