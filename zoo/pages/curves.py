"""Curves over the steps of a training, as inline SVG: numbers to points, ticks and a sentence for screen readers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from zoo.training.record import Record, smoothed

WIDTH, HEIGHT = 480, 260
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 10, 42
POINTS = 300  # of a line; more are not seen
COLOURS = 8


@dataclass(frozen=True)
class Curve:
    """Values over steps, with a name; `pale` ones lie behind and are not in the legend."""

    name: str
    steps: Sequence[int]
    values: Sequence[float]
    number: int
    pale: bool = False
    dots: bool = False


@dataclass(frozen=True)
class Drawn:
    """A curve as the text of a `polyline`'s points, and the middles of dots."""

    points: list[str]
    number: int
    pale: bool
    dots: list[tuple[float, float]]


@dataclass(frozen=True)
class Tick:
    """A tick of an axis: its place and its label."""

    at: float
    text: str


@dataclass(frozen=True)
class Chart:
    """The data of the macro `chart`."""

    title: str
    unit: str
    curves: list[Drawn]
    across: list[Tick]
    up: list[Tick]
    says: str


def chart(
    title: str, unit: str, curves: Iterable[Curve], *, log: bool = False, share: bool = False
) -> Chart | None:
    """The curves of one quantity over each other; None where there is no finite value.

    Args:
        unit: what the vertical axis shows.
        log: whether it is logarithmic; values that are not above 0 are then left out.
        share: whether it goes from 0 to 100.
    """
    curves = list(curves)
    shown = [[(s, v) for s, v in _thinned(one) if math.isfinite(v) and (v > 0 or not log)] for one in curves]
    values = [v for points in shown for _, v in points]
    if not values:
        return None
    last = max(step for points in shown for step, _ in points)
    first = min(1, *(step for points in shown for step, _ in points))
    rise = math.log10 if log else float
    low, high = (0.0, 100.0) if share else (min(map(rise, values)), max(map(rise, values)))
    if not (log or share):
        low = min(low, 0.0)
    if high - low < max(
        1e-12, 1e-9 * abs(high)
    ):  # one value, or nearly: around a large one a half may be nothing
        room = max(0.5, 1e-3 * abs(high))
        low, high = low - room, high + room

    def x(step: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (step - first) / max(last - first, 1), 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (rise(value) - low) / (high - low), 1)

    drawn = [
        Drawn(
            [" ".join(f"{x(s)},{y(v)}" for s, v in points)] if len(points) > 1 else [],
            one.number,
            one.pale,
            [(x(s), y(v)) for s, v in points] if one.dots or len(points) == 1 else [],
        )
        for one, points in zip(curves, shown, strict=True)
    ]
    up = [Tick(y(v), f"{v:g}") for v in (_powers(low, high) if log else _round_numbers(low, high))]
    across = [Tick(x(v), f"{v:,.0f}") for v in _round_numbers(first, last) if v == int(v)]
    said = [
        f"{one.name}: from {points[0][1]:.4g} at step {points[0][0]:,} to {points[-1][1]:.4g} at step {points[-1][0]:,}"
        for one, points in zip(curves, shown, strict=True)
        if points and not one.pale
    ]
    return Chart(title, unit, drawn, across, up, f"{title}. " + "; ".join(said))


def _thinned(curve: Curve) -> Iterator[tuple[int, float]]:
    """At most about `POINTS` of the points, the last among them."""
    every = max(1, math.ceil(len(curve.steps) / POINTS))
    for i, point in enumerate(zip(curve.steps, curve.values, strict=True)):
        if i % every == 0 or i == len(curve.steps) - 1:
            yield point


def _round_numbers(low: float, high: float) -> list[float]:
    """About five round numbers between two."""
    raw = (high - low) / 5 or 1.0
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * n for n in (1, 2, 5, 10) if size * n >= raw)
    return [n * step for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _powers(low: float, high: float) -> list[float]:
    """The powers of ten between two logarithms, and where these are few, twice and five times them."""
    found = [10.0**n for n in range(math.floor(low), math.ceil(high) + 1)]
    if len(found) < 4:
        found = [power * n for power in found for n in (1, 2, 5)]
    every = math.ceil(len(found) / 8)
    return [one for one in found[::every] if low - 1e-9 <= math.log10(one) <= high + 1e-9]


def charts(records: Sequence[Record]) -> list[Chart]:
    """Loss, learning rate and score of trainings over each other; of one, its gradient norms too."""
    losses: list[Curve] = []
    for n, one in enumerate(records):
        colour = n % COLOURS
        losses.append(Curve(one.name, one.steps, one.losses, colour, pale=True))
        losses.append(Curve(one.name, one.steps, smoothed(one.losses), colour))
    names = dict.fromkeys(one.score_name for one in records if one.scores)
    found = [
        chart("Loss", "nats per token", losses),
        chart(
            "Score",
            " or ".join(names),
            (
                Curve(
                    one.name, [s for s, _ in one.scores], [v for _, v in one.scores], n % COLOURS, dots=True
                )
                for n, one in enumerate(records)
            ),
            share=True,
        ),
        chart(
            "Learning rate",
            "learning rate",
            (Curve(one.name, one.steps, one.rates, n % COLOURS) for n, one in enumerate(records)),
        ),
    ]
    return [one for one in found if one is not None]


def norms_chart(record: Record) -> tuple[Chart, list[str]] | None:
    """The gradient norms of a training by block, and the names of the blocks; None where there are none.

    Of more blocks than there are colours, as many are taken, evenly from the first to the last.
    """
    blocks = list(record.norms)
    if len(blocks) > COLOURS:
        blocks = [blocks[round(i * (len(blocks) - 1) / (COLOURS - 1))] for i in range(COLOURS)]
    found = chart(
        "Gradient norms",
        "by block",
        [Curve(name, record.steps, smoothed(record.norms[name]), n) for n, name in enumerate(blocks)],
        log=True,
    )
    return None if found is None else (found, blocks)
