"""The training loop of all tasks; training on texts with one right answer each, and their score."""

from __future__ import annotations

import importlib
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import torch

from zoo.core.blueprint import Blueprint, Sizes
from zoo.core.errors import CombinationError, PluginError, ZooError
from zoo.core.plan import make_plan
from zoo.core.recipe import Recipe as Recipe
from zoo.core.tasks import NO_INPUTS, Inputs, get_task
from zoo.models.transformer import Model
from zoo.parts.decoding.base import Decoding
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding
from zoo.parts.loss.base import SequenceLoss
from zoo.parts.loss.cross_entropy import CrossEntropyLoss
from zoo.parts.schedule.base import Schedule
from zoo.parts.schedule.linear import LinearSchedule
from zoo.training.progress import Progress
from zoo.training.tasks.base import EOS, PAD, SOS, Aligned, Batch, TaskData, TrainingData
from zoo.training.update import DivergedError as DivergedError
from zoo.training.update import Loss, Step, Updater, has_encoder, prompts
from zoo.training.update import make_optimizer as make_optimizer
from zoo.training.update import shift_right as shift_right

SCORED = 1000
CHUNK = 250
"""How many unseen texts are scored, and how many are decoded at a time."""

OnStep = Callable[[int, float], None]


@dataclass(frozen=True)
class Example:
    """A text, what the model made of it, and what it should have made."""

    text: str
    got: str
    expected: str

    @property
    def right(self) -> bool:
        return self.got == self.expected


@dataclass(frozen=True)
class Score:
    """How many texts a model got exactly right, every letter and the end."""

    examples: tuple[Example, ...]

    @property
    def correct(self) -> int:
        return sum(example.right for example in self.examples)

    @property
    def total(self) -> int:
        return len(self.examples)

    @property
    def share(self) -> float:
        return self.correct / self.total


def load_task(name: str) -> TaskData:
    """The data of the task called `name`, in which a text has an answer.

    Raises:
        ZooError: it is another kind of task; or as `load_data` does.
    """
    data = load_data(name)
    if not isinstance(data, TaskData):
        raise ZooError(f"In the task '{name}' a text has no answer to be spelled out.")
    return data


def task_class(name: str) -> Any:
    """The class of the task called `name`. Raises as `load_data` does."""
    task = get_task(name)
    if not task.path:
        raise ZooError(f"The task '{name}' has commands of its own: `zoo train {name} --help`.")
    module, _, attribute = task.path.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise PluginError(f"Task '{name}' cannot be loaded from {task.path}: {error}") from error


def load_data(name: str, inputs: Inputs = NO_INPUTS, saved: Mapping[str, Any] | None = None) -> TrainingData:
    """The data of the task called `name`.

    Args:
        name: of the task.
        inputs: files to train on, if it takes any.
        saved: what a checkpoint keeps of the task, in place of files.

    Raises:
        UnknownNameError: there is no such task.
        PluginError: its class cannot be loaded.
        ZooError: the task is trained and scored by commands of its own; it takes no files; they cannot be used.
    """
    task = get_task(name)
    cls = task_class(name)
    if not task.files and inputs != NO_INPUTS:
        raise ZooError(f"The task '{name}' takes no files. `zoo train --help` lists the tasks.")
    if saved is None:
        return cls(inputs) if task.files else cls()  # type: ignore[no-any-return]
    try:
        return cls.restored(saved)  # type: ignore[no-any-return]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ZooError(
            f"What the checkpoint says about its task '{name}' is damaged. Train again."
        ) from error


def check_sizes(sizes: Sizes, task: TaskData) -> None:
    """Raises CombinationError if a model of these sizes cannot take the task's tokens."""
    for name in ("src_vocab", "tgt_vocab", "max_len"):
        given, needed = getattr(sizes, name), getattr(task, name)
        if given < needed:
            raise CombinationError(f"{name}={given} is too small for the task: expected at least {needed}.")
    if sizes.pad != PAD:
        raise CombinationError(f"pad={sizes.pad}: the tasks of the zoo pad with {PAD}.")


def check_model(blueprint: Blueprint, task: TaskData) -> None:
    """Raises CombinationError if a model cannot be trained on the task: for its assembly, or its sizes."""
    plan = make_plan(blueprint)
    if not plan.has("decoder"):
        raise CombinationError(
            f"The task is answered token by token, and assembly={plan['assembly'].name} generates nothing. Use "
            "assembly=encoder-decoder, or assembly=decoder, which goes on with its source."
        )
    if plan.has("encoder"):
        return check_sizes(blueprint.sizes, task)
    if task.src_vocab != task.tgt_vocab:
        raise CombinationError(
            f"The task has a vocabulary for each side, and assembly={plan['assembly'].name} has one. Use "
            "assembly=encoder-decoder."
        )
    if blueprint.sizes.max_len < 2 * task.max_len:
        raise CombinationError(
            f"max_len={blueprint.sizes.max_len} is too small for the task: with assembly={plan['assembly'].name}, "
            f"source and answer are one sequence. Expected at least {2 * task.max_len}."
        )
    return check_sizes(replace(blueprint.sizes, src_vocab=blueprint.sizes.tgt_vocab), task)


@contextmanager
def steady(device: torch.device, threads: int | None = 1) -> Iterator[None]:
    """Denormals are flushed to zero and so many threads are used (None: as many as before); then all is as it was.

    One thread is fastest for small models. torch's global random generators, also that of `device`, come out
    as they went in.
    """
    before, flushing = torch.get_num_threads(), sys.float_info.min / 2 == 0.0
    torch.set_num_threads(before if threads is None else threads)
    torch.set_flush_denormal(True)
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            yield
    finally:
        torch.set_flush_denormal(flushing)
        torch.set_num_threads(before)


class Evaluation(NamedTuple):
    """What an epoch came to: the loss on held-out text, and the score by which the best epoch is chosen."""

    loss: float
    score: float


class Work(Protocol):
    """What a trainer is given to do: a task's batches, and its evaluation.

    Attributes:
        epochs: times through the batches.
        patience: epochs without a better score before it stops; 0 never stops.
        seed: of dropout.
    """

    @property
    def epochs(self) -> int: ...
    @property
    def patience(self) -> int: ...
    @property
    def seed(self) -> int: ...

    def batches(self, epoch: int, done: int) -> Iterable[Sequence[Batch | Aligned]]:
        """The batches of each step of an epoch, without the first `done` steps."""

    def evaluate(self) -> Evaluation | None:
        """Return the model's score after an epoch; None if it is not scored during training."""


class Observer(Protocol):
    """Learns how a training goes; what a method raises ends it."""

    def on_step(self, progress: Progress, step: Step) -> None:
        """A step is done, and counted in `progress`."""

    def on_epoch(self, progress: Progress, train_loss: float, valid_loss: float, score: float) -> None:
        """An epoch is done and evaluated; it is the best if `progress.best_epoch` says so."""


W = TypeVar("W", bound=Work)


class Trainer(Generic[W]):
    """The training loop of every task: epochs of steps, each followed by an evaluation.

    Everything drawn at random follows from the seed, and where a training is from `progress`, the weights, the
    optimizer's state and torch's random generators: one that is taken up again with these goes on as if it had
    never stopped, on the CPU bit for bit.

    Attributes:
        progress: how far it has come; from the start, unless it is set.
    """

    def __init__(self, work: W, updater: Updater, threads: int | None = None) -> None:
        """`threads` of the CPU; as many as torch takes now if None."""
        self.work, self.updater, self.threads, self.progress = work, updater, threads, Progress()

    @property
    def model(self) -> Model:
        return self.updater.model

    @property
    def device(self) -> torch.device:
        return self.updater.loss.device

    @property
    def steps(self) -> int:
        """Steps of the whole training, about."""
        return self.updater.steps

    def run(self, observer: Observer) -> Progress:
        """Train until all epochs are done, or `patience` of them brought no better score.

        Raises:
            DivergedError: the loss is not finite.
        """
        progress = self.progress
        with steady(self.device, self.threads):
            if progress.step == 0:
                torch.manual_seed(self.work.seed)
            while not progress.finished:
                self._epoch(observer)
        return progress

    def _epoch(self, observer: Observer) -> None:
        """The rest of the present epoch."""
        progress, start = self.progress, time.perf_counter()
        before = progress.seconds
        self.model.train()
        for batches in self.work.batches(progress.epoch, progress.done):
            step = self.updater.step(progress.step, batches)
            progress.step, progress.done = progress.step + 1, progress.done + 1
            progress.loss, progress.tokens = (
                progress.loss + step.loss * step.tokens,
                progress.tokens + step.tokens,
            )
            progress.seconds = before + time.perf_counter() - start
            observer.on_step(progress, step)
        self.updater.check_weights(progress.step)
        found = self.work.evaluate()
        train_loss = progress.loss / progress.tokens
        progress.epoch, progress.done, progress.loss, progress.tokens = progress.epoch + 1, 0, 0.0, 0
        if found is not None and found.score > progress.best:
            progress.best, progress.best_epoch = found.score, progress.epoch
        waited = progress.epoch - progress.best_epoch
        enough = 0 < self.work.patience <= waited
        progress.finished = enough or progress.epoch >= self.work.epochs
        progress.seconds = before + time.perf_counter() - start
        if found is not None:
            observer.on_epoch(progress, train_loss, found.loss, found.score)


@dataclass(frozen=True)
class TextWork:
    """A task's batches, drawn for as many steps as the recipe says. `zoo.training.scoring` scores it afterwards."""

    task: TrainingData
    recipe: Recipe
    epochs: int = 1
    patience: int = 0

    @property
    def seed(self) -> int:
        """That of the recipe."""
        return self.recipe.seed

    def batches(self, epoch: int, done: int) -> Iterator[Sequence[Batch | Aligned]]:
        """One batch a step."""
        drawn = self.task.batches(torch.Generator().manual_seed(self.seed), self.recipe.batch_size)
        for batch in itertools.islice(drawn, done, self.recipe.steps):
            yield [batch]

    def evaluate(self) -> None:
        """Nothing during training."""


@dataclass
class _Losses:
    """An observer that keeps the losses."""

    listener: OnStep | None
    losses: list[float] = field(default_factory=list)

    def on_step(self, progress: Progress, step: Step) -> None:
        self.losses.append(step.loss)
        if self.listener is not None:
            self.listener(progress.step, step.loss)

    def on_epoch(self, progress: Progress, train_loss: float, valid_loss: float, score: float) -> None:
        pass


def train(
    model: Model,
    task: TrainingData,
    recipe: Recipe,
    *,
    loss: SequenceLoss | None = None,
    schedule: Schedule | None = None,
    optimizer: torch.optim.Optimizer | None = None,
    device: torch.device | str = "cpu",
    on_step: OnStep | None = None,
    threads: int | None = 1,
) -> list[float]:
    """Train `model` on `task` by teacher forcing, in place, and leave it in train mode on `device`.

    Args:
        model: of sizes that pass `check_model`, or what `zoo.training.scoring.prepare` gives.
        task: where batches come from.
        recipe: steps, learning rate, seed.
        loss: what is minimised; cross-entropy if not given.
        schedule: of the learning rate; linear if not given.
        optimizer: of the model's parameters, which are then on `device` already; AdamW if not given.
        device: where to train.
        on_step: called after each step with the number of steps done and the batch's loss; what it
            raises ends the training.
        threads: of the CPU; as many as torch takes now if None.

    Returns:
        the loss of each step, before the step: mean over tokens that are not PAD.

    Raises:
        DivergedError: the loss is not finite.
    """
    device, observer = torch.device(device), _Losses(on_step)
    model.to(device)
    measure = Loss(model, CrossEntropyLoss(PAD) if loss is None else loss, device)
    schedule = LinearSchedule(recipe.steps, recipe.warmup) if schedule is None else schedule
    updater = Updater(measure, recipe, schedule, recipe.steps, optimizer=optimizer)
    Trainer(TextWork(task, recipe), updater, threads).run(observer)
    return observer.losses


def exact_match(
    model: Model,
    task: TaskData,
    texts: Sequence[str] | None = None,
    *,
    decoding: Decoding | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
    threads: int | None = 1,
) -> Score:
    """Let `model` answer `texts`, token after token from its own output.

    Args:
        model: moved to `device`; its mode is left as it was.
        task: how texts become tokens, and what is right.
        texts: the first 1,000 held-out ones if not given.
        decoding: how tokens are chosen; greedily if not given.
        seed: of what a decoding draws.
        device: where to decode.
        threads: of the CPU; as many as torch takes now if None.
    """
    device, decoding = torch.device(device), decoding or GreedyDecoding()
    model.to(device)
    texts = task.held_out[:SCORED] if texts is None else texts
    examples: list[Example] = []
    with steady(device, threads):
        torch.manual_seed(seed)
        for start in range(0, len(texts), CHUNK):
            chunk = texts[start : start + CHUNK]
            src = task.batch(chunk).src.to(device)
            src = src if has_encoder(model) else prompts(src)
            rows = generate(model, src, task.max_len, decoding, sos=SOS, eos=EOS, pad=PAD).tolist()
            examples += [
                Example(text, task.decode(row), task.answer(text))
                for text, row in zip(chunk, rows, strict=True)
            ]
    return Score(tuple(examples))
