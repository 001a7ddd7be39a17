"""The same training with other parts, to see what a part is worth."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from zoo.core.blueprint import Blueprint
from zoo.models.builder import build
from zoo.models.devices import memory_limit
from zoo.training.log import Log
from zoo.training.progress import Progress
from zoo.training.record import EPOCHS
from zoo.training.recorder import Recorder
from zoo.training.trainer import DivergedError, Trainer
from zoo.training.translation.corpus import Corpora
from zoo.training.translation.dataset import Tokenizers, datasets
from zoo.training.translation.keeper import EPOCH_COLUMNS, STEP_COLUMNS
from zoo.training.translation.run import TASK
from zoo.training.translation.settings import Settings
from zoo.training.translation.translator import Translator
from zoo.training.translation.work import TranslationWork, make_trainer
from zoo.training.update import Step


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to: mean losses a target token, BLEU of the validation text, wall time since the start."""

    number: int
    train_loss: float
    valid_loss: float
    bleu: float
    seconds: float


@dataclass(frozen=True)
class Outcome:
    """A training: trainable parameters, its epochs, and why it has fewer of them than were asked for, if so."""

    blueprint: Blueprint
    parameters: int
    epochs: tuple[Epoch, ...]
    note: str = ""


class _Listener:
    """An observer that keeps the epochs, and records the steps if there is a recorder. A context manager."""

    def __init__(self, on_step: Callable[[], None], recorder: Recorder | None) -> None:
        self.on_any_step, self.epochs, self.recorder = on_step, list[Epoch](), recorder
        self.log: Log | None = None

    def on_step(self, progress: Progress, step: Step) -> None:
        if self.recorder is not None:
            self.recorder.step(progress.step, step.loss, step.lr, progress.epoch + 1, step.tokens)
            if self.log is None:  # the recorder has made the folder
                self.log = Log(self.recorder.folder / EPOCHS, EPOCH_COLUMNS, 0)
        self.on_any_step()

    def on_epoch(self, progress: Progress, train_loss: float, valid_loss: float, score: float) -> None:
        self.epochs.append(Epoch(progress.epoch, train_loss, valid_loss, score, progress.seconds))
        if self.log is not None:
            seconds = round(progress.seconds, 1)
            self.log.add(progress.epoch, progress.step, train_loss, valid_loss, score, seconds)

    def __enter__(self) -> _Listener:
        return self

    def __exit__(self, *raised: Any) -> None:
        if self.recorder is not None:
            self.recorder.__exit__(*raised)
        if self.log is not None:
            self.log.close()


def prepare(
    blueprint: Blueprint,
    settings: Settings,
    corpora: Corpora,
    tokenizers: Tokenizers,
    device: torch.device,
    allow: Collection[str] = (),
    threads: int | None = None,
) -> Trainer[TranslationWork]:
    """A trainer of a fresh model; `allow` names rules of combination that may be broken.

    Raises ZooError where the parts do not go together, or the text cannot be trained on.
    """
    with memory_limit("Use a smaller model."):
        model = build(blueprint, seed=settings.seed, allow=allow).to(device)
    max_len = blueprint.sizes.max_len
    translator = Translator(model, tokenizers, max_len, device)
    data = datasets(corpora, tokenizers, max_len)
    return make_trainer(model, blueprint, settings, data, translator, threads)


def recorder_in(
    folder: Path,
    trainer: Trainer[TranslationWork],
    blueprint: Blueprint,
    settings: Settings,
    command: str = "",
    board: bool = False,
) -> Recorder:
    """Return a recorder of a training in `folder`, from its first step on. Raises ZooError as `Recorder` does."""
    about = {"task": TASK, "recipe": asdict(settings), "seed": settings.seed, "score_name": "BLEU"}
    if command:
        about["command"] = command
    return Recorder(folder, trainer.model, blueprint, about, STEP_COLUMNS, board=board)


def outcome(
    trainer: Trainer[TranslationWork],
    blueprint: Blueprint,
    on_step: Callable[[], None],
    recorder: Recorder | None = None,
) -> Outcome:
    """Train to the end; no model is saved. A loss that is not finite ends it, and is noted."""
    listener, note = _Listener(on_step, recorder), ""
    try:
        with listener, memory_limit("Use a smaller --tokens, or a smaller model."):
            trainer.run(listener)
    except DivergedError as error:
        note = str(error)
    count = sum(one.numel() for one in trainer.model.parameters() if one.requires_grad)
    return Outcome(blueprint, count, tuple(listener.epochs), note)
