"""Trainings as curves: loss, learning rate, validation score, and gradient norms by depth."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from zoo.core.errors import ZooError
from zoo.draw.canvas import AMOUNTS, DASHES, LINES, new_figure, shortened, styled
from zoo.training.record import Record, read_record, smoothed

MARKS = "os^Dv"


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
    records = [
        run if isinstance(run, Record) else read_record(Path(run), names[os.fspath(run)]) for run in runs
    ]
    with_norms = [record for record in records if record.norms]
    rows = math.ceil(len(with_norms) / 3)
    figure = new_figure(11.0, 3.3 * (1 + rows) + 0.3, "Training")
    above, *below = figure.subfigures(
        2 if rows else 1, 1, squeeze=False, height_ratios=[1, rows][: 1 + bool(rows)]
    )[:, 0]
    loss, rate, score = above.subplots(1, 3)
    for number, record in enumerate(records):
        look: dict[str, Any] = {
            "color": LINES[number % len(LINES)],
            "linestyle": DASHES[number // 8 % len(DASHES)],
        }
        _draw_losses(loss, record, look)
        rate.plot(record.steps, record.rates, **look)
        if record.scores:
            mark = MARKS[number % len(MARKS)]
            score.plot(*zip(*record.scores, strict=True), marker=mark, markersize=6, fillstyle="none", **look)
    _finish(loss, "loss", "nats per token")
    _finish(rate, "learning rate", "learning rate")
    kinds = dict.fromkeys(record.score_name for record in records if record.scores)
    _finish(score, "validation score", " or ".join(kinds) or "score")
    score.set_xlim(rate.get_xlim())
    if not kinds:
        score.text(0.5, 0.5, "no score yet", transform=score.transAxes, ha="center", va="center", color="0.4")
    score.set_ylim(-3, 105)  # a score of 0 is seen
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
    """A label for each folder: its name, after the nearest folder above it that tells it from the others."""
    paths = {os.fspath(run): Path(run).resolve() for run in runs}
    return {run: _name(path, {*paths.values()} - {path}) for run, path in paths.items()}


def _name(path: Path, others: set[Path]) -> str:
    parts = path.parts
    ends = range(1, len(parts) + 1)
    count = next(n for n in ends if all(other.parts[-n:] != parts[-n:] for other in others))
    if count == 1:
        return path.name
    return f"{parts[-count][-12:]}/{'…/' if count > 2 else ''}{path.name}"


def _draw_losses(axes: Axes, record: Record, look: Mapping[str, Any]) -> None:
    """The loss of each step, pale, its running mean, and the validation's as dots."""
    label = shortened(record.name.lstrip("_") or "run", 24)  # matplotlib leaves out labels that begin so
    axes.plot(record.steps, record.losses, color=look["color"], alpha=0.25, linewidth=0.7)
    axes.plot(record.steps, smoothed(record.losses), label=label, **look)
    if record.valid_losses:
        steps, losses = zip(*record.valid_losses, strict=True)
        axes.plot(steps, losses, "o", color=look["color"], markersize=4, label="validation")


def _draw_norms(axes: Axes, steps: Sequence[int], norms: Mapping[str, Sequence[float]]) -> None:
    """A line for each block, from dark at the embeddings to light at the head."""
    colours = mpl.colormaps[AMOUNTS]
    for number, (block, values) in enumerate(norms.items()):
        colour = colours(0.8 * number / max(len(norms) - 1, 1))
        axes.plot(steps, smoothed(values), color=colour, linewidth=1.2, label=block)
    if any(value > 0 for values in norms.values() for value in values):
        axes.set_yscale("log")
        low, high = axes.get_ylim()
        if high < 2 * low:  # nearly one value
            axes.set_ylim(low / 2, high * 2)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=9))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    _finish(axes, "", "norm of the gradient")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=1 + len(norms) // 13, fontsize=7)


def _finish(axes: Axes, title: str, name: str) -> None:
    axes.set_title(title)
    axes.set_xlabel("step")
    axes.set_ylabel(name)
