"""A frozen dataclass config, a module-level lru_cache of float64 tables shared by all instances, made by a class factory; learned positions by one_hot @ table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class PositionConfig:
    d_model: int
    max_len: int
    base: float = 1e4

    def check(self, length: int) -> int:
        if length > self.max_len:
            raise ValueError(f"{length=} but max_len={self.max_len}")
        return length


@lru_cache(maxsize=8)
def _table(config: PositionConfig) -> Tensor:
    out = torch.empty(config.max_len, config.d_model, dtype=torch.float64, device="cpu")
    t = torch.linspace(0, config.max_len - 1, config.max_len, dtype=torch.float64, device="cpu")
    for column in range(config.d_model):
        angle = t / config.base ** ((column & ~1) / config.d_model)
        out[:, column] = (torch.cos if column & 1 else torch.sin)(angle)
    return out


def _make(name: str, default_len: int, init, add):
    def __init__(self, d_model: int, max_len: int = default_len) -> None:
        nn.Module.__init__(self)
        self.config = PositionConfig(d_model, max_len)
        init(self)

    def forward(self, x: Tensor) -> Tensor:
        return x + add(self, self.config.check(x.shape[1]), x)

    return type(name, (nn.Module,), {"__init__": __init__, "forward": forward, "__module__": __name__})


def _learned_init(self) -> None:
    self.table = nn.Parameter(torch.zeros(self.config.max_len, self.config.d_model))


def _learned_rows(self, length: int, x: Tensor) -> Tensor:
    picks = F.one_hot(torch.arange(length, device=x.device), self.config.max_len)
    return picks.to(self.table.dtype) @ self.table


SinusoidalPositions = _make(
    "SinusoidalPositions", 5000, lambda self: None, lambda self, length, x: _table(self.config)[:length].to(x)
)
LearnedPositions = _make("LearnedPositions", 512, _learned_init, _learned_rows)


if __name__ == "__main__":
    print(SinusoidalPositions(4)(torch.zeros(1, 3, 4)))
