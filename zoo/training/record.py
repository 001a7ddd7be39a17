"""The record of a training: what is in the folder that it wrote, and how it is read. No torch.

    DIR/record.json   task, blueprint, recipe, seed, machine and versions, how far it came, score and examples
    DIR/log.csv       a row per step: step, loss, lr, then what the training adds (score, epoch, tokens), then the
                      gradient norm of each block, "grad encoder 1"; a cell is empty where nothing was measured
    DIR/epochs.csv    a row per epoch, of a training that has several

`zoo.training.recorder` writes it: rows are appended as the steps are done, the JSON is replaced in one step. A
process that dies leaves a record that can be read, whose state is still "running".
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors

FORMAT = 1
RECORD, LOG, EPOCHS = "record.json", "log.csv", "epochs.csv"
LOCK = f".{LOG}.lock"
PREFIX = "grad "
"""What the names of the columns with gradient norms begin with."""
SMOOTHED = 40
"""A curve is smoothed over a share of the steps: one in so many."""
RUNNING, FINISHED, INTERRUPTED, FAILED = "running", "finished", "interrupted", "failed"


@dataclass
class Record:
    """What a run's folder says about its training.

    Attributes:
        steps, losses, rates: one a step.
        norms: gradient norms by block, one a step; empty where they were not logged.
        scores: (step, score) of the validation, from 0 to 100, and `score_name` says which.
        valid_losses: (step, loss) of the validation.
        about: the object in `record.json`; empty where there is none.
    """

    name: str
    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    norms: dict[str, list[float]] = field(default_factory=dict)
    scores: list[tuple[int, float]] = field(default_factory=list)
    score_name: str = ""
    valid_losses: list[tuple[int, float]] = field(default_factory=list)
    about: Mapping[str, Any] = field(default_factory=dict)


def read_record(folder: Path, name: str = "") -> Record:
    """The record of the training in `folder`. Raises ZooError where there is none."""
    path = folder / LOG
    if not path.is_file():
        missing = f"there is no {LOG} in it" if folder.is_dir() else "there is no such folder"
        raise ZooError(
            f"'{folder}' is not the folder of a training: {missing}. `zoo train --save DIR`, "
            "`zoo compare --runs DIR` and `zoo train translate RUN` write one."
        )
    record = Record(name or folder.name, about=read_about(folder))
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
        if not rows:
            raise ZooError(f"The training in '{folder}' has no step yet.")
        _read_scores(folder, rows, record)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ZooError(
            f"The record in '{folder}' is damaged or not written by `zoo train`: {error}."
        ) from error
    return record


def read_about(folder: Path) -> dict[str, Any]:
    """The object in a folder's `record.json`; empty where there is none.

    Raises ZooError if it is damaged, or of a newer version.
    """
    path = folder / RECORD
    if not path.is_file():
        return {}
    with reporting_os_errors(f"{path} cannot be read"):
        data = path.read_bytes()
    try:
        about = json.loads(data)
        version = about["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ZooError(f"{path} is damaged or not the record of a training. Train again.") from error
    if version != FORMAT:
        raise ZooError(
            f"{path} has format {version!r}; this zoo reads format {FORMAT}. Update transformer-zoo."
        )
    return dict(about)


def remove_record(folder: Path) -> None:
    """Remove the record in a folder, if there is one; the model beside it stays. Raises ZooError."""
    with reporting_os_errors(f"The old record in '{folder}' cannot be removed"):
        for name in (RECORD, LOG, EPOCHS):
            (folder / name).unlink(missing_ok=True)


def smoothed(values: Sequence[float]) -> list[float]:
    """The mean of each value and some before it, over a share of all values."""
    over, sums = max(1, len(values) // SMOOTHED), list(accumulate(values, initial=0.0))
    return [(sums[i + 1] - sums[max(0, i + 1 - over)]) / min(i + 1, over) for i in range(len(values))]


def in_words(folder: Path) -> str:
    """What the record in a folder is of, in a few words: "reverse, 300 steps, finished"; "" where there is none."""
    try:
        about = read_about(folder)
    except ZooError:
        return "a damaged one"
    if not about:
        return ""
    steps = about.get("steps", 0)
    return f"{about.get('task')}, {steps} step{'' if steps == 1 else 's'}, {about.get('state')}"


def _rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file, without a last one that was not written to its end."""
    with reporting_os_errors(f"{path} cannot be read"):
        text = path.read_text(encoding="utf-8", errors="replace")
    whole = text[: text.rfind("\n") + 1]
    return list(csv.DictReader(whole.splitlines(), restval=""))


def _read_scores(folder: Path, rows: list[dict[str, str]], record: Record) -> None:
    """Fill in the validation scores: those of the steps, of the epochs, and the one at the end."""
    if (folder / EPOCHS).is_file():
        record.score_name = "BLEU"
        for row in _rows(folder / EPOCHS):
            step = int(row["step"])
            record.scores.append((step, float(row["valid_bleu"])))
            record.valid_losses.append((step, float(row["valid_loss"])))
        return
    record.scores = [(int(row["step"]), 100 * float(row["score"])) for row in rows if row.get("score")]
    score = record.about.get("score")
    if score is not None:
        last = record.steps[-1]
        record.scores = [
            *(one for one in record.scores if one[0] != last),
            (last, 100 * float(score["share"])),
        ]
    if record.scores:
        record.score_name = str(record.about.get("score_name", "score (%)"))
