"""Trainings as curves: loss, learning rate, validation score, and gradient norms by depth."""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from zoo.core.errors import ZooError
from zoo.core.files import told
from zoo.draw.canvas import AMOUNTS, DASHES, LINES, new_figure, shortened, styled
from zoo.draw.subjects import INDEX, RUN

LOG, EPOCHS = "log.csv", "epochs.csv"
PREFIX = "grad "
"""What the names of the columns with gradient norms begin with: `zoo.training.gradients`."""
MARKS = "os^Dv"
SMOOTHED = 40
"""A loss is smoothed over a share of the steps: one in so many."""


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
            "`zoo train --task=translate RUN` write one."
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
    with told(f"{path} cannot be read"), path.open(encoding="utf-8", newline="") as file:
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


def smoothed(values: Sequence[float], over: int) -> list[float]:
    """The mean of each value and those before it, up to `over` of them."""
    sums = list(accumulate(values, initial=0.0))
    return [
        (sums[i + 1] - sums[max(0, i + 1 - over)]) / min(i + 1, over) for i in range(len(values))
    ]


@styled
def training(*runs: str | os.PathLike[str] | Record) -> Figure:
    """Draw trainings over each other: loss, rate and validation score; and the gradient norms of each, by depth.

    Args:
        runs: folders that `zoo train` wrote, or records.

    Raises:
        ZooError: a folder is not that of a training.
    """
    if not runs:
        raise ZooError("Name the folder of a training.")
    names = _names([run for run in runs if not isinstance(run, Record)])
    records = [run if isinstance(run, Record) else read_record(Path(run), names[os.fspath(run)]) for run in runs]
    with_norms = [record for record in records if record.norms]
    rows = math.ceil(len(with_norms) / 3)
    figure = new_figure(11.0, 3.3 * (1 + rows) + 0.3, "Training")
    above, *below = figure.subfigures(2 if rows else 1, 1, squeeze=False, height_ratios=[1, rows][: 1 + bool(rows)])[:, 0]
    loss, rate, score = above.subplots(1, 3)
    for number, record in enumerate(records):
        look: dict[str, Any] = {"color": LINES[number % len(LINES)], "linestyle": DASHES[number // 8 % len(DASHES)]}
        _draw_losses(loss, record, look)
        rate.plot(record.steps, record.rates, **look)
        if record.scores:
            mark = MARKS[number % len(MARKS)]
            score.plot(*zip(*record.scores, strict=True), marker=mark, markersize=6, fillstyle="none", **look)
    _finish(loss, "loss", "loss (nats a token)")
    _finish(rate, "learning rate", "learning rate")
    kinds = dict.fromkeys(record.score_name for record in records if record.scores)
    _finish(score, "validation score", " or ".join(kinds) or "score")
    score.set_xlim(rate.get_xlim())
    if not kinds:
        score.text(0.5, 0.5, "no score yet", transform=score.transAxes, ha="center", va="center", color="0.4")
    score.set_ylim(0, 105)
    loss.legend(loc="upper right")
    if not below:
        return figure
    panels = list(below[0].subplots(rows, min(len(with_norms), 3), squeeze=False).flat)
    for panel, record in zip(panels, with_norms, strict=False):
        _draw_norms(panel, record.steps, record.norms)
        panel.set_title("gradient norms" + (f": {shortened(record.name, 24)}" if len(records) > 1 else ""))
    for panel in panels[len(with_norms) :]:
        panel.remove()
    return figure


def _names(runs: Sequence[str | os.PathLike[str]]) -> dict[str, str]:
    """A label for each folder: its name, or its path where two have the same."""
    last = [Path(run).resolve().name for run in runs]
    return {
        os.fspath(run): name if last.count(name) == 1 else os.fspath(run)
        for run, name in zip(runs, last, strict=True)
    }


def _draw_losses(axes: Axes, record: Record, look: Mapping[str, Any]) -> None:
    """The loss of each step, pale, its running mean, and the validation's as dots."""
    over = max(1, len(record.losses) // SMOOTHED)
    axes.plot(record.steps, record.losses, color=look["color"], alpha=0.25, linewidth=0.7)
    axes.plot(record.steps, smoothed(record.losses, over), label=shortened(record.name, 24), **look)
    if record.valid_losses:
        steps, losses = zip(*record.valid_losses, strict=True)
        axes.plot(steps, losses, "o", color=look["color"], markersize=4, label="validation")


def _draw_norms(axes: Axes, steps: Sequence[int], norms: Mapping[str, Sequence[float]]) -> None:
    """A line for each block, from dark at the embeddings to light at the head."""
    over = max(1, len(steps) // SMOOTHED)
    colours = mpl.colormaps[AMOUNTS]
    for number, (block, values) in enumerate(norms.items()):
        colour = colours(0.92 * number / max(len(norms) - 1, 1))
        axes.plot(steps, smoothed(values, over), color=colour, linewidth=1.2, label=block)
    if any(value > 0 for values in norms.values() for value in values):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    _finish(axes, "", "norm of the gradient")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=1 + len(norms) // 13, fontsize=7)


def _finish(axes: Axes, title: str, name: str) -> None:
    axes.set_title(title)
    axes.set_xlabel("step")
    axes.set_ylabel(name)
