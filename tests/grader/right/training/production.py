"""Training of the sequence-to-sequence library."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class NoamSchedule:
    """Linear warm-up, then decay with the inverse square root of the step."""

    d_model: int
    warmup: int

    @property
    def peak_factor(self) -> float:
        return self.d_model**-0.5

    def rising(self, step: int) -> float:
        return step / self.warmup**1.5

    def falling(self, step: int) -> float:
        return 1 / step**0.5

    def rate(self, step: int) -> float:
        if step < self.warmup:
            return self.peak_factor * self.rising(step)
        return self.peak_factor * self.falling(step)


def noam(step: int, d_model: int, warmup: int) -> float:
    schedule = NoamSchedule(d_model=d_model, warmup=warmup)
    return float(schedule.rate(step))


@dataclass(frozen=True)
class Vocabulary:
    """Ids of the special tokens, followed by the letters."""

    pad: int = 0
    sos: int = 1
    eos: int = 2
    letters: str = string.ascii_lowercase
    index: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "index", {letter: self.offset + i for i, letter in enumerate(self.letters)})

    @property
    def offset(self) -> int:
        return max(self.pad, self.sos, self.eos) + 1

    def encode(self, word: str) -> list[int]:
        return [self.index[letter] for letter in word]


VOCABULARY = Vocabulary()


class Collator:
    """Pads rows of ids on the right."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def __call__(self, rows: Sequence[Sequence[int]]) -> Tensor:
        width = max((len(row) for row in rows), default=0)
        batch = torch.full((len(rows), width), self.vocabulary.pad, dtype=torch.int64)
        for number, row in enumerate(rows):
            batch[number, : len(row)] = torch.as_tensor(row, dtype=torch.int64)
        return batch


def pairs(words: Iterable[str]) -> Iterator[tuple[list[int], list[int]]]:
    for word in words:
        ids = VOCABULARY.encode(word)
        yield ids, [*reversed(ids), VOCABULARY.eos]


def reverse_words(words: Sequence[str]) -> tuple[Tensor, Tensor]:
    collate = Collator(VOCABULARY)
    sources: list[list[int]] = []
    targets: list[list[int]] = []
    for source, target in pairs(words):
        sources.append(source)
        targets.append(target)
    return collate(sources), collate(targets)


@contextmanager
def optimization_step(model: nn.Module, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Clean gradients before, one update after the block."""
    model.train()
    optimizer.zero_grad(set_to_none=True)
    yield
    optimizer.step()


def teacher_forcing(tgt: Tensor) -> Tensor:
    """[SOS, all ids but the last]."""
    return F.pad(tgt[:, :-1], (1, 0), value=VOCABULARY.sos)


def token_loss(logits: Tensor, tgt: Tensor) -> Tensor:
    """Mean over the tokens that are not PAD."""
    assert logits.shape[:2] == tgt.shape, "one prediction for each id"
    scores = logits.movedim(-1, 1)
    return F.cross_entropy(scores, tgt, ignore_index=VOCABULARY.pad)


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, src: Tensor, tgt: Tensor) -> float:
    with optimization_step(model, optimizer):
        logits = model(src, teacher_forcing(tgt))
        loss = token_loss(logits, tgt)
        loss.backward()
    return loss.item()
