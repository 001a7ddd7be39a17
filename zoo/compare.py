"""Every combination of some variants, measured side by side."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch

from zoo.blueprint import Blueprint, Choice
from zoo.builder import build_decoding, build_loss, build_schedule
from zoo.errors import ZooError
from zoo.measure import count_flops, largest_difference, peak_memory, time_interleaved
from zoo.plugins import get_registry
from zoo.recipe import Recipe
from zoo.training import exact_match, load_task, train
from zoo.transformer import Transformer
from zoo.trial import Tokens, build_on, padded_tokens

ROUNDS = 5


@dataclass(frozen=True)
class Conditions:
    """What all combinations have in common.

    Attributes:
        batch: rows of the batch.
        length: tokens of its longest row, on both sides.
        seed: of weights, batch and training.
        device: where everything runs.
        task: what to train on, None for no training.
        steps: of the training.
    """

    batch: int
    length: int
    seed: int
    device: torch.device
    task: str | None = None
    steps: int = 0


@dataclass(frozen=True)
class Row:
    """One combination; what could not be measured is None, and `note` says why.

    Attributes:
        blueprint: the combination.
        parameters: trained numbers.
        flops: of one forward pass.
        forward_s, step_s: median seconds of a forward pass, and of a training step with AdamW.
        memory_bytes: most in use during a training step, see `zoo.measure.peak_memory`.
        difference: largest absolute difference of logits to attention=eager with the same weights.
        score: share of unseen texts answered exactly right.
    """

    blueprint: Blueprint
    parameters: int | None = None
    flops: int | None = None
    forward_s: float | None = None
    step_s: float | None = None
    memory_bytes: int | None = None
    difference: float | None = None
    score: float | None = None
    note: str = ""


MEASURED = tuple(one.name for one in fields(Row) if one.name not in ("blueprint", "note"))


def combinations(base: Blueprint, choices: Mapping[str, Sequence[str]]) -> list[Blueprint]:
    """All combinations of the choices, as a user types them, in place of those of `base`.

    Raises:
        UnknownNameError: no such axis, variant or option.
        ZooError: a file that does not exist.
    """
    axes = {axis: list(dict.fromkeys(texts)) for axis, texts in choices.items()}
    chosen: list[dict[str, Any]] = [
        dict(zip(axes, texts, strict=True)) for texts in itertools.product(*axes.values())
    ]
    return [base.with_choices(**one) for one in chosen]


def compare(
    blueprints: Sequence[Blueprint],
    conditions: Conditions,
    on_stage: Callable[[str], object] = lambda _: None,
) -> list[Row]:
    """Build and measure all of them; one that is refused, or fails, is a row that says so.

    `on_stage` is called with what has just been done, `number_of_stages` times.
    """
    trials: dict[int, _Trial] = {}
    rows: list[Row] = []
    for number, blueprint in enumerate(blueprints):
        try:
            trials[number] = _Trial(blueprint, conditions)
            rows.append(trials[number].row())
        except ZooError as error:
            trials.pop(number, None)
            rows.append(Row(blueprint, note=str(error)))
        on_stage("built")

    def timed(functions: Sequence[Callable[[], object]]) -> dict[int, float]:
        return dict(zip(trials, time_interleaved(functions, ROUNDS, lambda: on_stage("timed")), strict=True))

    for number, seconds in timed([trial.ready_to_infer() for trial in trials.values()]).items():
        rows[number] = replace(rows[number], forward_s=seconds)
    for number, seconds in timed([trial.ready_to_train() for trial in trials.values()]).items():
        rows[number] = replace(rows[number], step_s=seconds)
    if conditions.task is not None:
        for number in range(len(rows)):
            if number in trials:
                rows[number] = _scored(rows[number], conditions)
            on_stage("trained")
    return rows


def number_of_stages(blueprints: Sequence[Blueprint], conditions: Conditions) -> int:
    """How often `compare` calls `on_stage`."""
    return len(blueprints) * (2 if conditions.task else 1) + 2 * ROUNDS


class _Trial:
    """A model with a batch and an optimizer: what is measured again and again."""

    def __init__(self, blueprint: Blueprint, conditions: Conditions) -> None:
        self.blueprint, self.conditions = blueprint, conditions
        self.model = build_on(blueprint, conditions.device, conditions.seed)
        tokens = padded_tokens(blueprint.sizes, conditions.batch, conditions.length, conditions.seed)
        self.tokens = Tokens(*(side.to(conditions.device) for side in tokens))
        self.loss = build_loss(blueprint).to(conditions.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True)

    def ready_to_infer(self) -> Callable[[], None]:
        """A forward pass; the model is put in eval mode for it."""
        self.model.eval()

        def forward() -> None:
            with torch.no_grad():
                self.model(self.tokens.src, self.tokens.tgt)

        return forward

    def ready_to_train(self) -> Callable[[], None]:
        """A training step; the model is put in train mode for it."""
        self.model.train()
        return self.step

    def step(self) -> None:
        logits = self.model(self.tokens.src, self.tokens.tgt)
        loss = self.loss(logits, self.tokens.labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def row(self) -> Row:
        """All that is measured once; the training step comes last, as it changes the weights."""
        difference, note = self._difference()
        return Row(
            self.blueprint,
            parameters=sum(p.numel() for p in self.model.parameters() if p.requires_grad),
            flops=count_flops(self.model, self.tokens.src, self.tokens.tgt),
            difference=difference,
            memory_bytes=peak_memory(
                self.ready_to_train(), self.model, self.optimizer, self.conditions.device
            ),
            note=note,
        )

    def _difference(self) -> tuple[float | None, str]:
        eager = _with_eager(self.blueprint)
        if eager is None:
            name = self.blueprint["attention"].name
            return None, f"attention={name} does not declare that it equals eager."
        other: Transformer = build_on(eager, self.conditions.device, self.conditions.seed)
        return largest_difference(self.model, other, self.tokens.src, self.tokens.tgt), ""


def _with_eager(blueprint: Blueprint) -> Blueprint | None:
    """The same with the plain attention, None if its attention does not claim to equal that."""
    registry, chosen = get_registry(), blueprint["attention"]
    if not registry.resolve("attention", chosen.name)[0].capabilities["exact"]:
        return None
    known = {option.name for option in registry.get("attention", "eager").options}
    plain = Choice("eager", {name: value for name, value in chosen.options.items() if name in known})
    return blueprint.with_choices(attention=str(plain))


def _scored(row: Row, conditions: Conditions) -> Row:
    assert conditions.task is not None
    task = load_task(conditions.task)
    try:
        model = build_on(row.blueprint, conditions.device, conditions.seed)
        recipe = Recipe(steps=conditions.steps, seed=conditions.seed)
        train(
            model,
            task,
            recipe,
            loss=build_loss(row.blueprint),
            schedule=build_schedule(row.blueprint, recipe.steps, recipe.warmup),
            device=conditions.device,
        )
        decoding = build_decoding(row.blueprint)
        return replace(row, score=exact_match(model, task, decoding=decoding, device=conditions.device).share)
    except ZooError as error:
        return replace(row, note=f"{row.note} {error}".strip())
