"""What is measured of one combination: its cost once, its training with one seed, its time beside others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from zoo.accelerate import accelerate
from zoo.analysis.measure import count_flops, largest_difference, peak_memory, time_interleaved
from zoo.analysis.workers import Call, attempt
from zoo.core.blueprint import Blueprint, Choice
from zoo.core.plan import plan_part
from zoo.core.plugins import get_registry
from zoo.core.recipe import Recipe
from zoo.models.builder import build_decoding, build_loss, build_schedule
from zoo.models.devices import memory_limit
from zoo.models.trial import Tokens, build_on, free_memory, padded_tokens
from zoo.training.trainer import exact_match, load_task, train

ROUNDS = 5
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
    """What is measured once; `zoo.analysis.compare.Row` says what each is."""

    parameters: int
    flops: int
    memory_bytes: int
    difference: float | None
    note: str


class Trial:
    """A model with a batch, a loss and an optimizer: what is measured again and again."""

    def __init__(self, blueprint: Blueprint, setting: Setting) -> None:
        self.blueprint, self.setting = blueprint, setting
        self.model = build_on(blueprint, setting.device, setting.seed)
        if setting.accelerated:
            accelerate(self.model)
        tokens = padded_tokens(blueprint.sizes, setting.batch, setting.length, setting.seed)
        self.tokens = Tokens(*(side.to(setting.device) for side in tokens))
        self.loss = build_loss(blueprint).to(setting.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)

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
        """Forward, backward, AdamW."""
        output = self.model(*self.tokens.read_by(self.model))
        loss = self.loss(output, self.tokens.labels)
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
    if not plan_part("attention", chosen).capabilities["exact"]:
        return None, f"attention={chosen.name} does not declare that it equals eager."
    known = {option.name for option in get_registry().get("attention", "eager").options}
    plain = Choice("eager", {name: value for name, value in chosen.options.items() if name in known})
    other = build_on(blueprint.with_choices(attention=str(plain)), setting.device, setting.seed)
    return largest_difference(trial.model, other, *trial.tokens.read_by(trial.model)), ""


def train_and_score(
    blueprint: Blueprint, task: str, recipe: Recipe, device: torch.device
) -> tuple[float, float]:
    """Train with the blueprint's loss and schedule, and decode unseen texts as it says.

    `recipe.seed` is that of weights, batches and decoding.

    Returns:
        the share of texts that are answered exactly right, and the loss of the last step.

    Raises:
        DivergedError: the loss is not finite.
        ZooError: a part fails, or it does not fit into memory.
    """
    data = load_task(task)
    with memory_limit(LESS), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        model = build_on(blueprint, device, recipe.seed)
        schedule = build_schedule(blueprint, recipe.steps, recipe.warmup)
        losses = train(model, data, recipe, loss=build_loss(blueprint), schedule=schedule, device=device)
        torch.manual_seed(recipe.seed)
        score = exact_match(model, data, decoding=build_decoding(blueprint), device=device)
        return score.share, losses[-1]


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
