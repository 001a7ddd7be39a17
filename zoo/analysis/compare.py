"""Combinations of variants and presets, measured side by side."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from zoo.analysis.benchmarking import ROUNDS, Cost, Setting, measure_once, measure_times, train_and_score
from zoo.analysis.workers import Call, Result, Workers
from zoo.core.blueprint import Blueprint
from zoo.core.describe import brief
from zoo.core.errors import CombinationError
from zoo.core.plan import make_plan
from zoo.core.recipe import Recipe
from zoo.core.rules import check
from zoo.core.tasks import NO_INPUTS, Inputs
from zoo.training.record import LOG, remove_record
from zoo.training.scoring import prepare
from zoo.training.tasks.base import TrainingData
from zoo.training.trainer import load_data

MEASURED, REFUSED, FAILED = "measured", "refused", "failed"


@dataclass(frozen=True)
class Candidate:
    """A combination to compare.

    Attributes:
        blueprint: the combination.
        preset: the name of the preset it comes from, "" if none was asked for.
        recipe: fields of `zoo.core.recipe.Recipe` in which its training differs from the default.
    """

    blueprint: Blueprint
    preset: str = ""
    recipe: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Conditions:
    """Conditions that all candidates share.

    Attributes:
        batch: rows of the batch that is measured on.
        length: tokens of its longest row, on both sides.
        seeds: of weights and training, one training each; the first is that of all other measurements.
        device: where everything runs.
        task: what to train on, None for no training.
        steps: of the training.
        jobs: processes that measure and train. Times are taken after they have ended, in this one.
        accelerated: whether what is measured, but not what is trained, takes the tricks of `zoo.accelerate`.
        runs: where each training is recorded, in a folder of its own (`run_folders`); None for nowhere.
        boards: whether TensorBoard's event files are written there too.
        inputs: what the task reads.
    """

    batch: int
    length: int
    seeds: tuple[int, ...]
    device: torch.device
    task: str | None = None
    steps: int = 0
    jobs: int = 1
    accelerated: bool = False
    runs: Path | None = None
    boards: bool = False
    inputs: Inputs = NO_INPUTS

    @property
    def setting(self) -> Setting:
        """On what a model is measured."""
        return Setting(self.batch, self.length, self.seeds[0], self.device, self.accelerated)


@dataclass(frozen=True)
class Training:
    """The result of the training with one seed: both numbers are None if it failed, and `problem` says why.

    Its record is in the folder `run`, if there is one. `reached` and `bits_per_byte` are those of
    `zoo.analysis.benchmarking.Trained`.
    """

    seed: int
    score: float | None = None
    loss: float | None = None
    problem: str = ""
    run: Path | None = None
    reached: int | None = None
    bits_per_byte: float | None = None


@dataclass(frozen=True)
class Row:
    """One candidate, measured; what could not be measured is None, and `note` says why.

    Attributes:
        candidate: what it is.
        outcome: "measured"; "refused", if a rule speaks against it; "failed", if a part does not work.
        parameters: trainable parameters.
        flops: of one forward pass.
        forward_s, step_s: median seconds of a forward pass, and of a training step with its optimizer.
        memory_bytes: most in use during a training step, see `zoo.analysis.measure.peak_memory`.
        difference: largest absolute difference of outputs to attention=eager with the same weights.
        timing_group: rows of the same group were timed in turns.
        trainings: what came of the training, seed by seed.
    """

    candidate: Candidate
    outcome: str = MEASURED
    parameters: int | None = None
    flops: int | None = None
    forward_s: float | None = None
    step_s: float | None = None
    memory_bytes: int | None = None
    difference: float | None = None
    timing_group: int | None = None
    trainings: tuple[Training, ...] = ()
    note: str = ""

    @property
    def measured(self) -> bool:
        """Return whether it was."""
        return self.outcome == MEASURED

    @property
    def blueprint(self) -> Blueprint:
        return self.candidate.blueprint

    @property
    def scores(self) -> Spread | None:
        """Shares of unseen texts answered exactly right, over the seeds whose training came to an end."""
        return _spread([one.score for one in self.trainings if one.score is not None])

    @property
    def bits(self) -> Spread | None:
        """Bits per byte of held-out text, over the same seeds; None if the task does not measure them."""
        return _spread([one.bits_per_byte for one in self.trainings if one.bits_per_byte is not None])

    @property
    def reached(self) -> float | None:
        """The first step at which the goal of the task was reached: the median over the same seeds, None for never."""
        steps = [
            math.inf if one.reached is None else one.reached
            for one in self.trainings
            if one.score is not None
        ]
        found = statistics.median_high(steps) if steps else math.inf
        return None if math.isinf(found) else found

    @property
    def losses(self) -> Spread | None:
        """Losses of the last step, over the same seeds."""
        return _spread([one.loss for one in self.trainings if one.loss is not None])


@dataclass(frozen=True)
class Spread:
    """Median, least and most of some numbers."""

    median: float
    least: float
    most: float


def _spread(numbers: Sequence[float]) -> Spread | None:
    return Spread(statistics.median(numbers), min(numbers), max(numbers)) if numbers else None


def combinations(bases: Sequence[Candidate], choices: Mapping[str, Sequence[str]]) -> list[Candidate]:
    """Every base with every combination of the choices, as a user types them, in place of its own.

    Raises:
        UnknownNameError: no such axis, variant or option.
        ZooError: a file that does not exist.
    """
    axes = {axis: list(dict.fromkeys(texts)) for axis, texts in choices.items()}
    chosen: list[dict[str, Any]] = [
        dict(zip(axes, texts, strict=True)) for texts in itertools.product(*axes.values())
    ]
    return [replace(base, blueprint=base.blueprint.with_choices(**one)) for base in bases for one in chosen]


def compare(
    candidates: Sequence[Candidate],
    conditions: Conditions,
    on_stage: Callable[[str], object] = lambda _: None,
) -> list[Row]:
    """Build and measure all of them; one that is refused, or fails, is a row that says so.

    `on_stage` is called with what has just been done, at most `number_of_stages` times. On leaving, also
    by Ctrl-C, no worker process is left.
    """
    task = load_data(conditions.task, conditions.inputs) if conditions.task is not None else None
    rows = [_admitted(one, conditions, task) for one in candidates]
    with Workers(conditions.jobs) as workers:
        _measure(rows, conditions, workers, on_stage)
        if conditions.task is not None:
            _train(rows, conditions, workers, on_stage)
    _time(rows, conditions, on_stage)
    return rows


def number_of_stages(candidates: Sequence[Candidate], conditions: Conditions) -> int:
    """Return how often `compare` calls `on_stage`, if no candidate is refused."""
    trainings = len(conditions.seeds) if conditions.task else 0
    return len(candidates) * (1 + trainings + 2 * ROUNDS)


def unfit(candidate: Candidate, conditions: Conditions, task: TrainingData | None) -> str:
    """Why a candidate cannot be measured like this, or trained on `task`, with the rule's name; "" if it can."""
    sizes = candidate.blueprint.sizes
    if conditions.length > sizes.max_len:
        return (
            f"The batch is {conditions.length} tokens long, which is over max_len={sizes.max_len}. Take a shorter "
            "--length, or a larger --max-len. (rule batch-length)"
        )
    if task is not None:
        try:
            prepare(candidate.blueprint, task, ("src_vocab", "tgt_vocab"))
        except CombinationError as error:
            return f"{error} (rule task-sizes)"
    return ""


def _admitted(candidate: Candidate, conditions: Conditions, task: TrainingData | None) -> Row:
    """A row that is to be filled, or one that is refused before anything is built."""
    try:
        check(make_plan(candidate.blueprint))
    except CombinationError as error:
        return Row(candidate, REFUSED, note=str(error))
    reason = unfit(candidate, conditions, task)
    return Row(candidate, REFUSED, note=reason) if reason else Row(candidate)


def _still_in(rows: Sequence[Row]) -> list[int]:
    return [number for number, row in enumerate(rows) if row.measured]


def _measure(
    rows: list[Row], conditions: Conditions, workers: Workers, on_stage: Callable[[str], object]
) -> None:
    """Fill in what is measured once."""
    numbers = _still_in(rows)
    calls = [Call(measure_once, (rows[n].blueprint, conditions.setting)) for n in numbers]
    for n, result in zip(numbers, workers.run(calls, lambda *_: on_stage("measured")), strict=True):
        rows[n] = _with_cost(rows[n], result)


def _with_cost(row: Row, result: Result) -> Row:
    if result.problem:
        return replace(row, outcome=REFUSED if result.refused else FAILED, note=result.problem)
    cost: Cost = result.value
    return replace(
        row,
        parameters=cost.parameters,
        flops=cost.flops,
        memory_bytes=cost.memory_bytes,
        difference=cost.difference,
        note=cost.note,
    )


def _train(
    rows: list[Row], conditions: Conditions, workers: Workers, on_stage: Callable[[str], object]
) -> None:
    """Fill in what came of the trainings."""
    pairs = [(n, seed) for n in _still_in(rows) for seed in conditions.seeds]
    folders = run_folders([row.candidate for row in rows], conditions)
    for folder in folders.values():
        remove_record(folder)  # so that one that fails at once is not taken for an older one
    calls = []
    for n, seed in pairs:
        recipe = Recipe(**{**rows[n].candidate.recipe, "steps": conditions.steps, "seed": seed})
        place = (folders.get((n, seed)), conditions.boards, conditions.inputs)
        calls.append(
            Call(train_and_score, (rows[n].blueprint, conditions.task, recipe, conditions.device, *place))
        )
    done = workers.run(calls, lambda *_: on_stage("trained"))
    for (n, seed), result in zip(pairs, done, strict=True):
        score, loss, reached, bits = result.value or (None, None, None, None)
        there = folders.get((n, seed))
        there = there if there is not None and (there / LOG).is_file() else None
        training = Training(seed, score, loss, result.problem, there, reached, bits)
        rows[n] = replace(rows[n], trainings=(*rows[n].trainings, training))
    for n in _still_in(rows):
        rows[n] = replace(rows[n], note=" ".join(filter(None, [rows[n].note, _failures(rows[n].trainings)])))


def run_folders(candidates: Sequence[Candidate], conditions: Conditions) -> dict[tuple[int, int], Path]:
    """The folder of each training's record, by number of the candidate and seed; empty where none is."""
    if conditions.runs is None:
        return {}
    names, several = run_names(candidates, conditions.task or "run"), len(conditions.seeds) > 1
    return {
        (number, seed): conditions.runs / (f"{name}-seed-{seed}" if several else name)
        for number, name in enumerate(names)
        for seed in conditions.seeds
    }


def run_names(candidates: Sequence[Candidate], otherwise: str) -> list[str]:
    """A name for each, of what tells it from the others, "fused-post"; `otherwise` where nothing does."""
    axes = candidates[0].blueprint.choices
    varied = [axis for axis in axes if len({str(one.blueprint[axis]) for one in candidates}) > 1]
    presets = len({one.preset for one in candidates}) > 1
    names: list[str] = []
    for one in candidates:
        parts = [one.preset] * presets + [brief(axis, one.blueprint[axis]) for axis in varied]
        name = re.sub(r"[^\w.=-]+", "-", "-".join(parts)).strip("-.")[:100] or otherwise
        names.append(f"{name}-{len(names) + 1}" if name in names else name)
    return names


def _failures(trainings: Sequence[Training]) -> str:
    """Return which trainings failed, and why, in one sentence a reason."""
    seeds: dict[str, list[int]] = {}
    for one in trainings:
        if one.problem:
            seeds.setdefault(one.problem, []).append(one.seed)
    if len(trainings) == 1:
        return next(iter(seeds), "")
    return " ".join(
        f"Seed{'s' * (len(those) > 1)} {', '.join(map(str, those))}: {problem}"
        for problem, those in seeds.items()
    )


def _time(rows: list[Row], conditions: Conditions, on_stage: Callable[[str], object]) -> None:
    """Fill in the times."""
    numbers = _still_in(rows)
    memory = [rows[n].memory_bytes or 0 for n in numbers]
    blueprints = [rows[n].blueprint for n in numbers]
    times = measure_times(blueprints, memory, conditions.setting, lambda: on_stage("timed"))
    for n, one in zip(numbers, times, strict=True):
        rows[n] = replace(
            rows[n],
            forward_s=one.forward_s,
            step_s=one.step_s,
            timing_group=one.group,
            note=" ".join(filter(None, [rows[n].note, one.problem])),
        )
