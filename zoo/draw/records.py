"""The record of a training, read from its folder. Neither torch nor matplotlib."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from pathlib import Path

from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors
from zoo.draw.subjects import INDEX, RUN

LOG, EPOCHS = "log.csv", "epochs.csv"
PREFIX = "grad "
"""What the names of the columns with gradient norms begin with: `zoo.training.gradients`."""


@dataclass
class Record:
    """What a run's folder says about its training.

    Attributes:
        steps, losses, rates: one a step.
        norms: gradient norms by block, one a step; empty where they were not logged.
        scores: (step, score) of the validation, from 0 to 100, and `score_name` says which.
        valid_losses: (step, loss) of the validation.
    """

    name: str
    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    norms: dict[str, list[float]] = field(default_factory=dict)
    scores: list[tuple[int, float]] = field(default_factory=list)
    score_name: str = ""
    valid_losses: list[tuple[int, float]] = field(default_factory=list)


def read_record(folder: Path, name: str = "") -> Record:
    """The record of the training in `folder`. Raises ZooError where there is none."""
    path = folder / LOG
    if not path.is_file():
        missing = f"there is no {LOG} in it" if folder.is_dir() else "there is no such folder"
        raise ZooError(
            f"'{folder}' is not the folder of a training: {missing}. `zoo train --save DIR` and "
            "`zoo train translate RUN` write one."
        )
    record = Record(name or folder.name)
    try:
        rows = _rows(path)
        for row in rows:
            record.steps.append(int(row["step"]))
            record.losses.append(float(row["loss"]))
            record.rates.append(float(row["lr"]))
        blocks = [key for key in (rows[0] if rows else {}) if key.startswith(PREFIX)]
        record.norms = {
            block.removeprefix(PREFIX): [float(row[block] or "nan") for row in rows] for block in blocks
        }
        _read_scores(folder, record)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ZooError(f"The log in '{folder}' is damaged or not written by `zoo train`: {error}.") from error
    if not record.steps:
        raise ZooError(f"The training in '{folder}' has no step yet.")
    return record


def _rows(path: Path) -> list[dict[str, str]]:
    with reporting_os_errors(f"{path} cannot be read"), path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, restval=""))


def _read_scores(folder: Path, record: Record) -> None:
    """Fill in the validation scores: of every epoch, or the one at the end."""
    if (folder / EPOCHS).is_file():
        record.score_name = "BLEU"
        for row in _rows(folder / EPOCHS):
            step = int(row["step"])
            record.scores.append((step, float(row["valid_bleu"])))
            record.valid_losses.append((step, float(row["valid_loss"])))
    elif (folder / INDEX).is_file() and not (folder / RUN).is_file():
        notes = json.loads((folder / INDEX).read_text(encoding="utf-8"))["extra"]
        record.score_name = "unseen texts right (%)"
        if notes.get("total"):
            record.scores.append((int(notes["steps"]), 100 * notes["correct"] / notes["total"]))
