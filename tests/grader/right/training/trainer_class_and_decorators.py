"""Typed and over-designed: IntEnum tokens, frozen dataclass schedule with __getitem__, a generic Trainer class behind train_step, decorators, contextmanager, lru_cache."""

from __future__ import annotations

import contextlib
import functools
from dataclasses import dataclass
from enum import IntEnum
from string import ascii_lowercase
from typing import Callable, Final, Generic, Iterator, Sequence, TypeVar

import torch
from torch import Tensor, nn

M = TypeVar("M", bound=nn.Module)


class Token(IntEnum):
    PAD = 0
    SOS = 1
    EOS = 2


LETTERS: Final[dict[str, int]] = {letter: number for number, letter in enumerate(ascii_lowercase, start=len(Token))}


@dataclass(frozen=True)
class Schedule:
    d_model: int
    warmup: int

    def __getitem__(self, step: int) -> float:
        rising = step / self.warmup**1.5
        falling = 1 / step**0.5
        return float(min(rising, falling) / self.d_model**0.5)


@functools.lru_cache(maxsize=None)
def _schedule(d_model: int, warmup: int) -> Schedule:
    return Schedule(d_model=d_model, warmup=warmup)


def noam(step: int, d_model: int, warmup: int) -> float:
    return _schedule(d_model, warmup)[step]


def as_float(function: Callable[..., Tensor]) -> Callable[..., float]:
    @functools.wraps(function)
    def wrapped(*args, **kwargs) -> float:
        return function(*args, **kwargs).detach().to("cpu", torch.float64).item()

    return wrapped


class Trainer(Generic[M]):
    def __init__(self, model: M, optimizer: torch.optim.Optimizer) -> None:
        self.model = model.train()
        self.optimizer = optimizer
        self.criterion = nn.CrossEntropyLoss(ignore_index=int(Token.PAD), reduction="sum")

    @contextlib.contextmanager
    def update(self) -> Iterator[None]:
        self.optimizer.zero_grad()
        yield
        self.optimizer.step()

    def teacher_forcing(self, tgt: Tensor) -> Tensor:
        shifted = tgt.roll(shifts=1, dims=1)
        return shifted.index_fill_(1, torch.zeros(1, dtype=torch.int64, device=tgt.device), int(Token.SOS))

    def fit_batch(self, src: Tensor, tgt: Tensor) -> Tensor:
        with self.update():
            logits = self.model(src, self.teacher_forcing(tgt))
            total = self.criterion(logits.transpose(-1, -2), tgt)
            loss = total / tgt.count_nonzero()
            loss.backward()
        return loss


@as_float
def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, src: Tensor, tgt: Tensor) -> Tensor:
    return Trainer(model, optimizer).fit_batch(src, tgt)


def _table(rows: Sequence[Sequence[int]]) -> Tensor:
    width = max((len(row) for row in rows), default=0)
    table = torch.full((len(rows), width), int(Token.PAD), dtype=torch.int64)
    for line, row in zip(table, rows):
        line[: len(row)] = torch.tensor(row, dtype=torch.int64)
    return table


def reverse_words(words: list[str]) -> tuple[Tensor, Tensor]:
    ids = [tuple(map(LETTERS.__getitem__, word)) for word in words]
    return _table(ids), _table([(*row[::-1], Token.EOS) for row in ids])
