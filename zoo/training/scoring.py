"""The score of a model on any task: texts answered exactly, or tokens given at their positions."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from zoo.core.blueprint import Blueprint
from zoo.models.builder import build_decoding
from zoo.models.transformer import Model
from zoo.training.tasks.base import PAD, AlignedData, TaskData, TrainingData
from zoo.training.tasks.classify import Classify
from zoo.training.tasks.language import Language
from zoo.training.trainer import SCORED, Example, Score, check_model, exact_match, steady

TOKENS = 2**16
"""How many held-out tokens are scored at most."""
ROWS = 32


@dataclass(frozen=True)
class TokenScore(Score):
    """How well a model gives held-out tokens, or classes.

    Attributes:
        right, count: how many were the most probable one, and how many there were.
        nats: negative log-probability of all of them.
        size: bytes of the text that they stand for; 0 where that is not asked for.
    """

    right: int = 0
    count: int = 0
    nats: float = 0.0
    size: int = 0

    @property
    def correct(self) -> int:
        return self.right

    @property
    def total(self) -> int:
        return self.count

    @property
    def perplexity(self) -> float:
        """exp of the mean negative log-probability of a token."""
        return math.exp(min(self.nats / self.count, 700.0))

    @property
    def bits_per_byte(self) -> float | None:
        """Bits that it takes to write a byte of the text, whatever the tokens; None where bytes are not counted."""
        return self.nats / math.log(2) / self.size if self.size else None


def prepare(
    blueprint: Blueprint, data: TrainingData, asked: Collection[str] = ()
) -> tuple[Blueprint, TrainingData]:
    """A blueprint with the vocabularies of a task, if its data makes them, and the task with rows for this model.

    Args:
        blueprint: as it was asked for.
        data: of the task.
        asked: sizes that are to stay as they are.

    Raises:
        CombinationError: the model cannot be trained on the task; the text says what would work.
    """
    if isinstance(data, AlignedData):
        blueprint = data.fitted(blueprint, asked)
        return blueprint, data.bound(blueprint)
    assert isinstance(data, TaskData)
    check_model(blueprint, data)
    return blueprint, data


def score(
    model: Model,
    data: TrainingData,
    blueprint: Blueprint,
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
    threads: int | None = 1,
    amount: int | None = None,
) -> Score:
    """The score of `model` on what the training of `data` never sees, whose mode is left as it was.

    Args:
        model: built from `blueprint`, moved to `device`.
        data: bound to it (`prepare`).
        blueprint: whose decoding is used, where texts are answered.
        seed: of what a decoding draws.
        device, threads: as in `exact_match`.
        amount: texts, or rows of tokens; 1,000 texts or 65,536 tokens if not given.
    """
    if isinstance(data, AlignedData):
        return token_score(model, data, device=device, threads=threads, amount=amount)
    assert isinstance(data, TaskData)
    texts = data.held_out[: SCORED if amount is None else amount]
    decoding = build_decoding(blueprint)
    return exact_match(model, data, texts, decoding=decoding, seed=seed, device=device, threads=threads)


@torch.no_grad()
def token_score(
    model: Model,
    data: AlignedData,
    *,
    device: torch.device | str = "cpu",
    threads: int | None = 1,
    amount: int | None = None,
) -> TokenScore:
    """The score of `model` on held-out rows; arguments as in `score`."""
    model.to(device)
    was_training, right, count, nats, size, rows = model.training, 0, 0, 0.0, 0, 0
    examples: list[Example] = []
    model.eval()
    try:
        with steady(torch.device(device), threads):
            for batch in data.held_out_batches(ROWS):
                src, tgt = (side.to(device) for side in batch)
                output = model(src).float()  # [B, T, V]; logits or log-probabilities
                counted = tgt != PAD  # [B, T]
                best = output.argmax(-1)
                right += int(((best == tgt) & counted).sum())
                count += int(counted.sum())
                nats += float(F.cross_entropy(output[counted], tgt[counted], reduction="sum"))
                rows += len(src)
                if isinstance(data, Language):
                    size += data.size(tgt[counted].tolist())
                if isinstance(data, Classify):
                    examples += _examples(data, src[:, 1:], best[:, 0], tgt[:, 0])
                if count >= TOKENS or (amount is not None and rows >= amount):
                    break
    finally:
        model.train(was_training)
    return TokenScore(tuple(examples), right, count, nats, size)


def _examples(data: Classify, texts: torch.Tensor, got: torch.Tensor, classes: torch.Tensor) -> list[Example]:
    """Texts [B, T], most probable tokens [B] and classes [B], in words."""
    return [
        Example(data.vocabulary.decode([i for i in text if i != PAD]), data.label(one), data.label(other))
        for text, one, other in zip(texts.tolist(), got.tolist(), classes.tolist(), strict=True)
    ]
