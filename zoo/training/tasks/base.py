"""What a task offers to whoever trains on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # a text can be encoded without torch
    import torch
    from torch import Tensor

PAD, SOS, EOS = 0, 1, 2
"""Token ids of padding, start and end, on both sides of every task."""


class Batch(NamedTuple):
    """src [B, S]: ids, then PAD. tgt [B, L]: ids, EOS, then PAD. Both int64, as wide as the longest row."""

    src: Tensor
    tgt: Tensor


class TaskData(ABC):
    """Texts and their answers, as token ids.

    Attributes:
        src_vocab, tgt_vocab: vocabulary sizes, the three special tokens included.
        max_len: longest sequence that a model meets: an answer and its EOS, or a source.
        training: texts to train on.
        held_out: texts that training never sees, the same in every run, in an order that makes any
            first n of them a fair sample.
    """

    src_vocab: int
    tgt_vocab: int
    max_len: int
    training: Sequence[str]
    held_out: Sequence[str]

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """A text as source ids. Raises ZooError for a text that is not of this task."""

    @abstractmethod
    def answer(self, text: str) -> str:
        """Return what a model should make of `text`."""

    @abstractmethod
    def encode_answer(self, answer: str) -> list[int]:
        """An answer as target ids, without EOS."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Generated ids as text, up to EOS; ids that no answer holds are shown too, as marks."""

    def batch(self, texts: Sequence[str]) -> Batch:
        """Source and target of these texts, row by row."""
        src = [self.encode(text) for text in texts]
        tgt = [[*self.encode_answer(self.answer(text)), EOS] for text in texts]
        return Batch(padded(src), padded(tgt))

    def batches(self, generator: torch.Generator, batch_size: int) -> Iterator[Batch]:
        """Endless batches of training texts, each drawn by `generator` (of the CPU)."""
        import torch

        while True:
            drawn = torch.randint(len(self.training), (batch_size,), generator=generator)
            yield self.batch([self.training[i] for i in drawn.tolist()])


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Ids in rows of different lengths as int64 [B, T], each row filled up with PAD to the longest."""
    import torch

    width = max(map(len, rows))
    filled = [[*row, *[PAD] * (width - len(row))] for row in rows]  # B rows of ids -> B rows of T
    return torch.tensor(filled, dtype=torch.int64)
