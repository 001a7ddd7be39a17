"""The translator's batches and validation: the work of a `zoo.training.trainer.Trainer`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from zoo.core.blueprint import Blueprint
from zoo.models.builder import build_loss, build_optimizer, build_schedule
from zoo.models.transformer import Model
from zoo.training.tasks.base import PAD, Batch
from zoo.training.trainer import Evaluation, Trainer
from zoo.training.translation.batching import epoch_batches
from zoo.training.translation.dataset import Dataset, Datasets
from zoo.training.translation.scoring import bleu
from zoo.training.translation.settings import Settings
from zoo.training.translation.translator import Translator
from zoo.training.update import Loss, Updater


class TranslationWork:
    """Epochs over sentence pairs, each followed by the loss and the BLEU of the validation text.

    Attributes:
        steps: of the whole training, for schedule and progress bar: as many in every epoch as in the first. Later
            epochs may have a few more or less, as their batches come out.
    """

    def __init__(self, settings: Settings, data: Datasets, translator: Translator, loss: Loss) -> None:
        """
        Args:
            translator: of the model that is trained; translates the validation text, for BLEU.
            loss: of the same model.

        Raises:
            ZooError: a sentence is longer than a batch may be.
        """
        self.settings, self.data, self.translator, self.loss = settings, data, translator, loss
        self.epochs, self.patience, self.seed = settings.epochs, settings.patience, settings.seed
        self.lengths = data.train.lengths
        self.steps = settings.epochs * len(self.groups(0))

    def groups(self, epoch: int) -> list[list[list[int]]]:
        """The batches of each step of an epoch, as indices of training pairs."""
        batches = epoch_batches(self.lengths, self.settings.tokens, self.settings.seed, epoch)
        size = self.settings.accumulate
        return [batches[start : start + size] for start in range(0, len(batches), size)]

    def batches(self, epoch: int, done: int) -> Iterator[Sequence[Batch]]:
        """The batches of each step of an epoch, without the first `done` steps."""
        for group in self.groups(epoch)[done:]:
            yield [self.data.train.batch(indices) for indices in group]

    def evaluate(self) -> Evaluation:
        """Loss and BLEU of the validation text."""
        return Evaluation(self.valid_loss(), self.valid_bleu())

    @torch.no_grad()
    def valid_loss(self) -> float:
        """The loss on the validation text, without dropout: mean over its target tokens."""
        data, total, count = self.data.valid, 0.0, 0
        self.loss.model.eval()
        for indices in in_order(data, self.settings.tokens):
            batch = data.batch(indices)
            tokens = int((batch.tgt != PAD).sum())
            total, count = total + self.loss(batch).item() * tokens, count + tokens
        return total / count

    def valid_bleu(self) -> float:
        """BLEU of greedy translations of the validation text."""
        pairs = self.data.valid.corpus.pairs
        found = self.translator([pair.src for pair in pairs])
        return bleu(found.texts, [pair.tgt for pair in pairs]).value


def in_order(data: Dataset, tokens: int) -> Sequence[Sequence[int]]:
    """All pairs in batches, the same every time; a batch has at most `tokens` places a side, or one pair."""
    longest = max(map(max, data.lengths))
    return epoch_batches(data.lengths, max(tokens, longest), seed=0, epoch=0)


def make_trainer(
    model: Model,
    blueprint: Blueprint,
    settings: Settings,
    data: Datasets,
    translator: Translator,
    threads: int | None = None,
) -> Trainer[TranslationWork]:
    """A trainer of a translator, from the start.

    Args:
        model: built from `blueprint`, on the device of `translator`.
        translator: of the same model.
        threads: of the CPU; as many as torch takes now if None.

    Raises:
        ZooError: a sentence is longer than a batch may be; no such precision here.
    """
    loss = Loss(model, build_loss(blueprint), translator.device, settings.precision, settings.compile)
    work = TranslationWork(settings, data, translator, loss)
    schedule = build_schedule(blueprint, work.steps, settings.warmup)
    recipe = settings.recipe()
    optimizer = build_optimizer(blueprint, model, recipe)
    return Trainer(work, Updater(loss, recipe, schedule, work.steps, settings.clip, optimizer), threads)
