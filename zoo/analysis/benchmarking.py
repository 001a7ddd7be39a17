"""Measurements of one combination: its cost once, its training with one seed, its time beside others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch

from zoo.accelerate import accelerate
from zoo.analysis.measure import count_flops, largest_difference, peak_memory, time_interleaved
from zoo.analysis.workers import Call, attempt
from zoo.core.blueprint import Blueprint, Choice
from zoo.core.pattern import format_pattern
from zoo.core.plan import plan_layers
from zoo.core.plugins import get_registry
from zoo.core.recipe import Recipe
from zoo.core.rules import checked_plan
from zoo.core.tasks import NO_INPUTS, Inputs
from zoo.models.builder import build_loss, build_optimizer, build_schedule
from zoo.models.devices import memory_limit
from zoo.models.transformer import Model
from zoo.models.trial import Tokens, build_on, free_memory, padded_tokens
from zoo.training.recorder import Recorder, described, score_name
from zoo.training.scoring import prepare, score, token_score
from zoo.training.tasks.base import AlignedData, TaskData, TrainingData
from zoo.training.trainer import exact_match, load_data, train

ROUNDS = 5
GLANCE_EVERY = 20
"""How often, in steps, it is looked whether a model has reached the goal of its task."""
LESS = "Take smaller sizes, or a smaller batch."


@dataclass(frozen=True)
class Setting:
    """On what a model is measured.

    Attributes:
        batch: rows of the batch.
        length: tokens of its longest row, on both sides.
        seed: of weights and batch.
        device: where it runs.
        accelerated: whether tricks of `zoo.accelerate` are taken.
    """

    batch: int
    length: int
    seed: int
    device: torch.device
    accelerated: bool = False


@dataclass(frozen=True)
class Cost:
    """One measurement; `zoo.analysis.compare.Row` says what each is."""

    parameters: int
    flops: int
    memory_bytes: int
    difference: float | None
    note: str


class Trial:
    """A model with a batch, a loss and an optimizer: what is measured again and again."""

    def __init__(self, blueprint: Blueprint, setting: Setting) -> None:
        self.blueprint, self.setting = blueprint, setting
        self.model = build_on(checked_plan(blueprint), setting.device, setting.seed)
        if setting.accelerated:
            accelerate(self.model)
        tokens = padded_tokens(blueprint.sizes, setting.batch, setting.length, setting.seed)
        self.tokens = Tokens(*(side.to(setting.device) for side in tokens))
        self.loss = build_loss(blueprint).to(setting.device)
        self.optimizer = build_optimizer(blueprint, self.model, Recipe(lr=1e-4))

    def ready_to_infer(self) -> Callable[[], None]:
        """A forward pass; the model is put in eval mode for it."""
        self.model.eval()

        def forward() -> None:
            with torch.no_grad():
                self.model(*self.tokens.read_by(self.model))

        return forward

    def ready_to_train(self) -> Callable[[], None]:
        """A training step; the model is put in train mode for it."""
        self.model.train()
        return self.step

    def step(self) -> None:
        """Forward, backward, a step of the optimizer."""
        output = self.model(*self.tokens.read_by(self.model))
        loss = self.loss(output, self.tokens.labels_for(output))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def measure_once(blueprint: Blueprint, setting: Setting) -> Cost:
    """Parameters, FLOPs, memory, and the difference to plain attention.

    Raises:
        CombinationError: it cannot be built.
        ZooError: a part fails, or it does not fit into memory.
    """
    with memory_limit(LESS):
        trial = Trial(blueprint, setting)
        difference, note = _difference(trial)
        return Cost(
            parameters=sum(p.numel() for p in trial.model.parameters() if p.requires_grad),
            flops=count_flops(trial.model, *trial.tokens.read_by(trial.model)),
            memory_bytes=peak_memory(trial.ready_to_train(), trial.model, trial.optimizer, setting.device),
            difference=difference,
            note=note,
        )


def _difference(trial: Trial) -> tuple[float | None, str]:
    """The largest difference of outputs to attention=eager with the same weights; or None, and why."""
    blueprint, setting = trial.blueprint, trial.setting
    chosen = blueprint["attention"]
    inexact = [p.name for p in plan_layers("attention", chosen) if not p.capabilities["exact"]]
    if inexact:
        return None, f"attention={inexact[0]} does not declare that it equals eager."
    known = {option.name for option in get_registry().get("attention", "eager").options}
    plain = format_pattern(
        str(Choice("eager", {name: value for name, value in one.options.items() if name in known}))
        for one in chosen.layers
    )
    other = build_on(checked_plan(blueprint.with_choices(attention=plain)), setting.device, setting.seed)
    return largest_difference(trial.model, other, *trial.tokens.read_by(trial.model)), ""


class Trained(NamedTuple):
    """The result of a training.

    Attributes:
        score: the share of unseen texts answered exactly right, or of the most probable tokens that were right.
        loss: of the last step.
        reached: the first step at which a glance at a few of them showed the goal of the task; None if none did.
        bits_per_byte: of held-out text, where the task measures that.
    """

    score: float
    loss: float
    reached: int | None = None
    bits_per_byte: float | None = None


def train_and_score(
    blueprint: Blueprint,
    task: str,
    recipe: Recipe,
    device: torch.device,
    folder: Path | None = None,
    board: bool = False,
    inputs: Inputs = NO_INPUTS,
) -> Trained:
    """Train with the blueprint's loss, schedule and optimizer, and score it; texts are decoded as it says.

    `recipe.seed` is that of weights, batches and decoding. The training is recorded in `folder`, if it is given, with
    TensorBoard's event files if `board`. `inputs` are what the task reads.

    Raises:
        DivergedError: the loss is not finite.
        ZooError: a part fails, or it does not fit into memory.
    """
    blueprint, data = prepare(blueprint, load_data(task, inputs), ("src_vocab", "tgt_vocab"))
    reached: int | None = None
    with memory_limit(LESS), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        model = build_on(checked_plan(blueprint), device, recipe.seed)
        schedule = build_schedule(blueprint, recipe.steps, recipe.warmup)
        about = {"task": task, "recipe": asdict(recipe), "seed": recipe.seed, "score_name": score_name(data)}
        recorder = None
        if folder is not None:
            recorder = Recorder(folder, model, blueprint, about, board=board)

        def on_step(step: int, loss: float) -> None:
            nonlocal reached
            if recorder is not None:
                recorder.step(step, loss, recipe.lr * schedule(step - 1))
            if reached is None and step % GLANCE_EVERY == 0 and glance(model, data, device) >= data.goal:
                reached = step

        with recorder or nullcontext():
            losses = train(
                model,
                data,
                recipe,
                loss=build_loss(blueprint),
                schedule=schedule,
                optimizer=build_optimizer(blueprint, model, recipe),
                device=device,
                on_step=on_step,
            )
            torch.manual_seed(recipe.seed)
            found = score(model, data, blueprint, device=device)
            if recorder is not None:
                recorder.note(**described(found))
        return Trained(found.share, losses[-1], reached, getattr(found, "bits_per_byte", None))


def glance(model: Model, data: TrainingData, device: torch.device) -> float:
    """The share that a model gets right of a few unseen texts, greedily, or of the tokens of a few rows."""
    if isinstance(data, TaskData):
        return exact_match(model, data, data.held_out[: data.glance], device=device).share
    assert isinstance(data, AlignedData)
    return token_score(model, data, device=device, amount=data.glance).share


@dataclass(frozen=True)
class Times:
    """Median seconds of a forward pass and of a training step; or what went wrong. Measured in turns with its group."""

    forward_s: float | None
    step_s: float | None
    group: int
    problem: str = ""


def measure_times(
    blueprints: Sequence[Blueprint],
    memory: Sequence[int],
    setting: Setting,
    on_time: Callable[[], object] = lambda: None,
) -> list[Times]:
    """Time all of them in this process, one thread, in turns, so that a machine that gets slower hits all alike.

    Args:
        blueprints: what to time.
        memory: the bytes that each needs. Those that memory does not hold at once are timed in groups,
            one after the other.
        setting: on what.
        on_time: called whenever one has been timed once, 2 * ROUNDS times for each.
    """
    free = free_memory(setting.device)
    found: list[Times] = []
    for number, size in enumerate(group_sizes(memory, None if free is None else free // 2)):
        group = blueprints[len(found) : len(found) + size]
        found += _times_of_group(group, number, setting, on_time)
    return found


def group_sizes(memory: Sequence[int], room: int | None) -> list[int]:
    """Return how many neighbours go together so that none takes more than `room`, or is alone."""
    sizes: list[int] = []
    taken = 0
    for one in memory:
        if not sizes or (room is not None and taken + one > room):
            sizes.append(0)
            taken = 0
        sizes[-1] += 1
        taken += one
    return sizes


def _times_of_group(
    blueprints: Sequence[Blueprint], group: int, setting: Setting, on_time: Callable[[], object]
) -> list[Times]:
    made = [attempt(Call(Trial, (blueprint, setting))) for blueprint in blueprints]
    trials: list[Trial | None] = [one.value for one in made]
    problems = [one.problem for one in made]
    seconds: list[list[float]] = []
    for ready in (Trial.ready_to_infer, Trial.ready_to_train):
        steps = [
            _Guarded(ready(trial) if trial else None, problem)
            for trial, problem in zip(trials, problems, strict=True)
        ]
        seconds.append(time_interleaved(steps, ROUNDS, on_time))
        problems = [step.problem for step in steps]
    return [
        Times(None, None, group, problem) if problem else Times(forward, step, group)
        for forward, step, problem in zip(*seconds, problems, strict=True)
    ]


class _Guarded:
    """Calls a function until it fails; then it keeps the problem, and does nothing more."""

    def __init__(self, function: Callable[[], None] | None, problem: str) -> None:
        self.function, self.problem = function, problem

    def __call__(self) -> None:
        if self.function is not None and not self.problem:
            self.problem = attempt(Call(self.function, ())).problem
