"""The training of a translator: epochs of steps, each followed by validation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import torch

from zoo.core.blueprint import Blueprint
from zoo.models.transformer import Transformer
from zoo.training.tasks.base import PAD
from zoo.training.translation.batching import epoch_batches
from zoo.training.translation.dataset import Dataset, Datasets
from zoo.training.translation.progress import Progress
from zoo.training.translation.scoring import bleu
from zoo.training.translation.settings import Settings
from zoo.training.translation.translator import Translator
from zoo.training.translation.update import Loss, Step, Updater


class Observer(Protocol):
    """Who is told how a training goes; what a method raises ends it."""

    def on_step(self, progress: Progress, step: Step) -> None:
        """A step is done, and counted in `progress`."""

    def on_epoch(self, progress: Progress, train_loss: float, valid_loss: float, score: float) -> None:
        """An epoch is done, and counted in `progress`: it is the best if `progress.best_epoch` says so."""


class Trainer:
    """Trains a model on sentence pairs, in place.

    Everything drawn at random follows from the settings' seed, and where a training stands from `progress`, the
    weights, the optimizer's state and torch's random generators: a training that is taken up again with these goes
    on as if it had never stopped, on the CPU bit for bit.

    Attributes:
        steps: of the whole training, for schedule and progress bar: as many in every epoch as in the first. Later
            epochs may have a few more or less, as their batches come out.
    """

    def __init__(
        self,
        model: Transformer,
        blueprint: Blueprint,
        settings: Settings,
        data: Datasets,
        translator: Translator,
        device: torch.device,
        progress: Progress | None = None,
    ) -> None:
        """
        Args:
            model: built from `blueprint`, on `device`.
            translator: of the same model; translates the validation text, for BLEU.
            progress: where to go on; from the start if None.

        Raises:
            ZooError: a sentence is longer than a batch may be; no such precision here.
        """
        self.model, self.settings, self.data, self.translator, self.device = (
            model,
            settings,
            data,
            translator,
            device,
        )
        self.progress = progress or Progress()
        self.lengths = data.train.lengths
        self.steps = settings.epochs * len(self.groups(0))
        self.loss = Loss(model, blueprint, settings, device)
        self.updater = Updater(self.loss, self.steps)

    def groups(self, epoch: int) -> list[list[list[int]]]:
        """The batches of each step of an epoch, as indices of training pairs."""
        batches = epoch_batches(self.lengths, self.settings.tokens, self.settings.seed, epoch)
        size = self.settings.accumulate
        return [batches[start : start + size] for start in range(0, len(batches), size)]

    def run(self, observer: Observer) -> Progress:
        """Train until all epochs are done, or `patience` of them brought no better BLEU.

        Raises:
            DivergedError: the loss is not finite.
        """
        progress = self.progress
        with flushing():
            if progress.step == 0:
                torch.manual_seed(self.settings.seed)
            while not progress.finished:
                self._epoch(observer)
        return progress

    def _epoch(self, observer: Observer) -> None:
        """The rest of the present epoch."""
        progress, start = self.progress, time.perf_counter()
        before = progress.seconds
        self.model.train()
        for group in self.groups(progress.epoch)[progress.done :]:
            batches = [self.data.train.batch(indices) for indices in group]
            step = self.updater.step(progress.step, batches)
            progress.step, progress.done = progress.step + 1, progress.done + 1
            progress.loss, progress.tokens = (
                progress.loss + step.loss * step.tokens,
                progress.tokens + step.tokens,
            )
            progress.seconds = before + time.perf_counter() - start
            observer.on_step(progress, step)
        valid_loss, score = self.valid_loss(), self.valid_bleu()
        train_loss = progress.loss / progress.tokens
        progress.epoch, progress.done, progress.loss, progress.tokens = progress.epoch + 1, 0, 0.0, 0
        if score > progress.best:
            progress.best, progress.best_epoch = score, progress.epoch
        waited = progress.epoch - progress.best_epoch
        enough = 0 < self.settings.patience <= waited
        progress.finished = enough or progress.epoch >= self.settings.epochs
        progress.seconds = before + time.perf_counter() - start
        observer.on_epoch(progress, train_loss, valid_loss, score)

    @torch.no_grad()
    def valid_loss(self) -> float:
        """The loss on the validation text, without dropout: mean over its target tokens."""
        data, total, count = self.data.valid, 0.0, 0
        self.model.eval()
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


@contextmanager
def flushing() -> Iterator[None]:
    """Denormals are flushed to zero, which is faster; torch's random generators come out as they went in."""
    torch.set_flush_denormal(True)
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        torch.set_flush_denormal(False)
