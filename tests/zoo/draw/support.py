"""Training a small model by the command line, and reading figures: their texts, images and lines."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from zoo.cli.root import make_cli
from zoo.core.plugins import get_plugins
from zoo.draw.canvas import drawing


def train_reverser(folder: Path, steps: int = 220) -> None:
    """Train the preset `reverse` on fewer steps than usual, and save it."""
    options = ["--steps", str(steps), "--warmup=20", "--device=cpu", "--save", str(folder)]
    done = CliRunner().invoke(make_cli(get_plugins()), ["train", *options])
    assert done.exit_code == 0, done.output


def panels(figure: Figure) -> list[Any]:
    """The axes with a matrix, colour bars left out, in the order in which they were made."""
    return [axes for axes in figure.axes if axes.images]


def matrices(figure: Figure) -> list[Any]:
    """The numbers of each matrix."""
    return [axes.images[0].get_array() for axes in panels(figure)]


def labels(axis: Any) -> list[str]:
    """The tick labels of an axis."""
    return [text.get_text() for text in axis.get_ticklabels()]


def misplaced(figure: Figure) -> list[str]:
    """Texts that leave the figure, and pairs of texts that overlap, as the figure is drawn."""
    with drawing():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        renderer = canvas.get_renderer()
        found = [
            (text.get_text(), text.get_window_extent(renderer))
            for text in _drawn(figure)
            if text.get_visible() and text.get_text().strip()
        ]
    width, height = canvas.get_width_height()
    wrong = [
        f"{text!r} leaves the figure"
        for text, box in found
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]
    for (one, box), (other, another) in combinations(found, 2):
        across = min(box.x1, another.x1) - max(box.x0, another.x0)
        down = min(box.y1, another.y1) - max(box.y0, another.y0)
        if across > 1 and down > 1:
            wrong.append(f"{one!r} overlaps {other!r}")
    return wrong


def _drawn(figure: Figure) -> list[Text]:
    """The texts that are drawn: tick labels only where they are within the axes' limits."""
    found = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    found += [text for part in figure.subfigs for text in part.texts]
    for axes in figure.axes:
        legend = axes.get_legend()
        found += [*axes.texts, axes.title, *(legend.get_texts() if legend else [])]
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            low, high = sorted(axis.get_view_interval())
            found.append(axis.label)
            for tick in axis.get_major_ticks():
                if low <= tick.get_loc() <= high:
                    found += [label for label in (tick.label1, tick.label2) if label.get_visible()]
    return found


def share_on_antidiagonal(weights: Any, letters: int) -> float:
    """The mean weight with which letter i of the answer attends to letter n - 1 - i of the word."""
    return float(np.mean([weights[i, letters - 1 - i] for i in range(letters)]))
