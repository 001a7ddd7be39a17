"""Comparisons as flat records and as CSV files that name machine and versions."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from zoo.analysis.compare import Candidate, Conditions, Row, Spread
from zoo.core.blueprint import Sizes
from zoo.core.errors import ZooError
from zoo.core.recipe import Recipe
from zoo.models.devices import machine

COSTS = (
    "parameters",
    "flops",
    "forward_s",
    "step_s",
    "memory_bytes",
    "difference",
    "timing_group",
)


def records(rows: Iterable[Row], conditions: Conditions) -> list[dict[str, Any]]:
    """Rows as flat records: choices, sizes, conditions, what was measured, machine and versions.

    All values are numbers, texts or None, but for lists of numbers: `seeds`, and `scores`, `last_losses`, `reached`
    and `bits_per_byte`, which go with them.
    """
    where = machine(conditions.device)
    return [
        {
            "preset": row.candidate.preset or None,
            **{axis: str(choice) for axis, choice in row.blueprint.choices.items()},
            **{one.name: getattr(row.blueprint.sizes, one.name) for one in fields(Sizes)},
            "batch": conditions.batch,
            "length": conditions.length,
            "seeds": list(conditions.seeds),
            "jobs": conditions.jobs,
            "accelerated": conditions.accelerated,
            **_training(row.candidate, conditions),
            "outcome": row.outcome,
            **{name: getattr(row, name) for name in COSTS},
            **_spread("score", row.scores),
            **_spread("loss", row.losses),
            "scores": [one.score for one in row.trainings],
            "last_losses": [one.loss for one in row.trainings],
            "reached": [one.reached for one in row.trainings],
            "bits_per_byte": [one.bits_per_byte for one in row.trainings],
            "note": row.note,
            **where,
        }
        for row in rows
    ]


def _training(candidate: Candidate, conditions: Conditions) -> dict[str, Any]:
    """The task and the recipe, all None where nothing is trained; the seed stands elsewhere."""
    trained = conditions.task is not None
    recipe = asdict(Recipe(**{**candidate.recipe, "steps": conditions.steps})) if trained else {}
    names = [one.name for one in fields(Recipe) if one.name != "seed"]
    flat = {f"train_{name}": recipe.get(name) for name in names}
    beta1, beta2 = flat.pop("train_betas") or (None, None)
    return {"task": conditions.task, **flat, "train_beta1": beta1, "train_beta2": beta2}


def _spread(name: str, spread: Spread | None) -> dict[str, float | None]:
    found = asdict(spread) if spread is not None else dict.fromkeys(("median", "least", "most"))
    return {f"{name}_{which}": value for which, value in found.items()}


def csv_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Records as CSV with a header; the numbers of a list are in one cell, separated by spaces."""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return file.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list):
        return " ".join("-" if one is None else str(one) for one in value)
    return value


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write records to `path`, whole or not at all; a file that is there is replaced.

    Raises:
        ZooError: it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(csv_text(rows), encoding="utf-8", newline="")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ZooError(f"'{path}' cannot be written: {error.strerror}.") from error


def check_csv(path: Path) -> None:
    """Raises ZooError if `path` cannot become a file; asked before anything is measured."""
    if path.exists() and not path.is_file():
        raise ZooError(f"'{path}' exists and is not a regular file. Use the name of a CSV file.")
    if not path.parent.is_dir():
        raise ZooError(f"'{path}' cannot be written: there is no directory '{path.parent}'.")
