"""Schedules of the learning rate as curves."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from zoo.core.errors import ZooError
from zoo.core.recipe import Recipe
from zoo.draw.canvas import DASHES, LINES, new_figure, shortened, styled
from zoo.draw.pieces import make_part


def rates(name: str, steps: int, warmup: int) -> list[float]:
    """The share of the highest rate at each step of the schedule `name`, as a user types it. Raises ZooError."""
    rate = make_part("schedule", name, steps, warmup)
    return [float(rate(step)) for step in range(steps)]


@styled
def schedule(
    names: Sequence[str], *, steps: int = 300, warmup: int | None = None, lr: float | None = None
) -> Figure:
    """Draw the learning rate of schedules over a training.

    Args:
        names: schedules as a user types them, "cosine:floor=0.1" for one.
        steps: of the whole training.
        warmup: of these, those of the warm-up; a tenth if None.
        lr: the highest rate; without it, shares of it are drawn.

    Raises:
        ZooError: no schedule is named, or there is none of this name; `lr` is not a number above 0.
    """
    names = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    if not names:
        raise ZooError("Name a schedule; `zoo list schedule` shows them.")
    if steps < 1 or (warmup is not None and warmup < 1):
        raise ZooError("steps and warmup: expected at least 1 of each.")
    if lr is not None:
        Recipe(lr=lr)  # raises for what is no rate
    warmup = max(1, steps // 10) if warmup is None else warmup
    figure = new_figure(
        7.0, 3.8, f"Learning rate over {steps:,} steps, {min(warmup, steps):,} of them warm-up"
    )
    axes = figure.subplots()
    for number, name in enumerate(names):
        shares = rates(name, steps, warmup)
        heights = [share * (lr or 1.0) for share in shares]
        axes.plot(
            range(1, steps + 1),
            heights,
            color=LINES[number % len(LINES)],
            linestyle=DASHES[number // 2 % len(DASHES)],
            label=shortened(name, 40),
        )
    if min(warmup, steps) < steps:
        axes.axvline(warmup, color="0.6", linewidth=0.8, linestyle=":", zorder=0, label="end of the warm-up")
    axes.set_xlabel("step")
    axes.set_ylabel("learning rate" if lr else "learning rate (share of the highest)")
    axes.set_ylim(bottom=0)
    axes.set_xlim(0, steps + 1)
    axes.legend(loc="best")
    return figure
