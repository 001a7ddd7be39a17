"""The base of tasks: what training needs of them."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from zoo.core.blueprint import Blueprint
from zoo.core.errors import CombinationError, ZooError
from zoo.core.plan import make_plan

if TYPE_CHECKING:  # a text can be encoded without torch
    import torch
    from torch import Tensor

PAD, SOS, EOS = 0, 1, 2
"""Token ids of padding, start and end, on both sides of every task."""
SPECIAL = 3
"""How many ids these are; others follow."""

A = TypeVar("A", bound="AlignedData")


class Batch(NamedTuple):
    """src [B, S]: ids, then PAD. tgt [B, L]: ids, EOS, then PAD. Both int64, as wide as the longest row."""

    src: Tensor
    tgt: Tensor


class Aligned(NamedTuple):
    """src [B, T]: tokens. tgt [B, T]: what a model is to give at each of them, PAD where that does not count."""

    src: Tensor
    tgt: Tensor


class TrainingData(ABC):
    """What every task offers.

    Attributes:
        src_vocab, tgt_vocab: vocabulary sizes, the three special tokens included.
        scored: what its score counts, in the plural, and `how` they are right.
        goal: the share of them from which a model counts as one that can do it.
    """

    src_vocab: int
    tgt_vocab: int
    scored: ClassVar[str] = "unseen texts"
    how: ClassVar[str] = "answered exactly"
    goal: ClassVar[float] = 0.9
    glance: ClassVar[int] = 100
    """How many texts or rows tell, during a training, whether that is reached."""

    @abstractmethod
    def batches(self, generator: torch.Generator, batch_size: int) -> Iterator[Batch | Aligned]:
        """Endless batches to train on, drawn by `generator` (of the CPU)."""


class TaskData(TrainingData):
    """Texts and their answers, as token ids.

    Attributes:
        max_len: longest sequence that a model meets: an answer and its EOS, or a source.
        training: texts to train on.
        held_out: texts that training never sees, the same in every run, in an order that makes any
            first n of them a fair sample.
    """

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


class AlignedData(TrainingData):
    """Tokens, and what a model of one stack is to give at each position.

    Attributes:
        assembly: the one that it fits.
        reads: "tokens" or "images".
        instead: for a model of another: what would work, a sentence.
        length: tokens of a row, at most: the max_len of the model that it is bound to.
    """

    assembly: ClassVar[str]
    reads: ClassVar[str] = "tokens"
    instead: ClassVar[str]
    length: int = 0

    def fitted(self, blueprint: Blueprint, asked: Collection[str] = ()) -> Blueprint:
        """`blueprint` with the vocabularies of this task, but for those of the sizes that were `asked` for."""
        both = make_plan(blueprint)["embedding"].capabilities["one_vocabulary"]
        sizes = {"src_vocab": self.src_vocab, "tgt_vocab": self.src_vocab if both else self.tgt_vocab}
        if self.assembly == "decoder":
            sizes = dict.fromkeys(sizes, self.tgt_vocab)
        return blueprint.with_sizes(**{name: size for name, size in sizes.items() if name not in asked})

    def bound(self: A, blueprint: Blueprint) -> A:
        """The same with rows for a model of this blueprint.

        Raises:
            CombinationError: the model is of another assembly, or its sizes do not fit.
        """
        chosen = make_plan(blueprint)["assembly"].name
        able = make_plan(blueprint)["assembly"].capabilities
        if (able["stacks"], able["reads"]) != ((self.assembly,), self.reads):
            raise CombinationError(f"{self.instead} This model has assembly={chosen}.")
        for name in ("src_vocab", "tgt_vocab"):
            given, needed = getattr(blueprint.sizes, name), getattr(self, name)
            if given < needed and name not in make_plan(blueprint).unused_sizes:
                raise CombinationError(
                    f"{name}={given} is too small for the task: expected at least {needed}."
                )
        if blueprint.sizes.pad != PAD:
            raise CombinationError(f"pad={blueprint.sizes.pad}: the tasks of the zoo pad with {PAD}.")
        found = copy.copy(self)
        found.length = blueprint.sizes.max_len
        found.check_length()
        return found

    def check_length(self) -> None:
        """Raises CombinationError if there is nothing to train on in rows of this length."""

    @abstractmethod
    def held_out_batches(self, batch_size: int) -> Iterator[Aligned]:
        """The rows that training never sees, the same in every run."""

    @abstractmethod
    def saved(self) -> Mapping[str, Any]:
        """Return what a checkpoint keeps of it, as JSON takes it: `restored` makes a task of it that can encode."""

    @classmethod
    @abstractmethod
    def restored(cls: type[A], saved: Mapping[str, Any]) -> A:
        """The task as it was saved, without its texts. Raises KeyError or TypeError for anything else."""

    def read(self, text: str) -> tuple[list[int], list[str]]:
        """A text as a model reads it: ids, and each of them as text. Imports no torch.

        Raises:
            ZooError: the text is not of this task, or the task reads no texts.
        """
        raise ZooError("The task of this model reads no texts.")

    def answers(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Return what `model`, in eval mode, makes of texts that a user gives.

        Raises:
            ZooError: a text is not of this task, or the task answers nothing.
        """
        raise NotImplementedError


def padded(rows: Sequence[Sequence[int]]) -> Tensor:
    """Ids in rows of different lengths as int64 [B, T], each row filled up with PAD to the longest."""
    import torch

    width = max(map(len, rows))
    filled = [[*row, *[PAD] * (width - len(row))] for row in rows]  # B rows of ids -> B rows of T
    return torch.tensor(filled, dtype=torch.int64)
