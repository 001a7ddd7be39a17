"""Shapes for the pages of a class: what became of mistakes as a flow, and grades as a histogram. Numbers only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from grader.classroom.misconceptions import Move

WIDTH, NODE, GAP, UNIT, HEADING = 880, 12, 12, 200, 24
LABEL = 240  # on each side
MOST = 8  # mistakes of their own on each side; the others are put together
OTHERS, UNNAMED = "other mistakes", "failure without a name"
_ENDS = ("passed", "other failure", "not loaded", "no longer passed")
_LEAST = 4.0


@dataclass(frozen=True)
class Node:
    """A box with its label beside it: what students had before, or after."""

    label: str
    count: int
    x: float
    y: float
    height: float
    kind: str


@dataclass(frozen=True)
class Ribbon:
    """Students who went from one box to another. `path` is an SVG path, `text` says it in words."""

    path: str
    kind: str
    text: str


@dataclass(frozen=True)
class Flow:
    """From one attempt to the next, for one exercise."""

    exercise: str
    width: int
    height: int
    left: tuple[Node, ...]
    right: tuple[Node, ...]
    ribbons: tuple[Ribbon, ...]
    text: str


def flow(exercise: str, moves: Sequence[Move]) -> Flow | None:
    """The moves of an exercise as ribbons between two columns of boxes; None if there are none."""
    counts: Counter[tuple[str, str]] = Counter()
    known = Counter[str]()
    for move in moves:
        for one in (move.before, move.after):
            known[one] += move.students
    named = [one for one in known if one and one not in _ENDS]
    own = set(sorted(named, key=lambda one: (-known[one], one))[:MOST])
    for move in moves:
        before = _named(move.before, own)
        same = move.before == move.after
        counts[before, before if same else _named(move.after, own)] += move.students
    if not counts:
        return None
    total = sum(counts.values())
    before_counts, after_counts = Counter[str](), Counter[str]()
    for (before, after), count in counts.items():
        before_counts[before] += count
        after_counts[after] += count
    order = sorted(before_counts, key=lambda one: (one in _ENDS, one == OTHERS, -before_counts[one], one))
    ends = sorted(
        after_counts,
        key=lambda one: (
            *(one != "passed", one in _ENDS, one == OTHERS),
            *(order.index(one) if one in order else len(order), one),
        ),
    )
    unit = max(UNIT, 16 * max(len(order), len(ends))) / total
    left = _column(order, before_counts, unit, LABEL, dict.fromkeys(order, "left"))
    right = _column(ends, after_counts, unit, WIDTH - LABEL - NODE, {one: _kind(one) for one in ends})
    height = max(node.y + node.height for node in (*left.values(), *right.values())) + GAP
    ribbons = []
    out, into = {one: left[one].y for one in order}, {one: right[one].y for one in ends}
    for before in order:
        for after in ends:
            count = counts[before, after]
            if count:
                thick = count * unit
                kind = "kept" if before == after else _kind(after)
                ribbons.append(
                    Ribbon(
                        _ribbon(left[before].x + NODE, out[before], right[after].x, into[after], thick),
                        kind,
                        f"{count} from {before} to {'the same' if before == after else after}",
                    )
                )
                out[before] += thick
                into[after] += thick
    return Flow(
        exercise,
        WIDTH,
        round(height),
        tuple(left.values()),
        tuple(right.values()),
        tuple(ribbons),
        "; ".join(one.text for one in ribbons),
    )


def _named(one: str, own: set[str]) -> str:
    if not one:
        return UNNAMED
    return one if one in _ENDS or one in own else OTHERS


def _kind(after: str) -> str:
    if after in ("other failure", "not loaded"):
        return "left"
    return {"passed": "passed", "no longer passed": "kept"}.get(after, "other")


def _column(
    order: Sequence[str], counts: Counter[str], unit: float, x: float, kinds: dict[str, str]
) -> dict[str, Node]:
    found, y = {}, float(HEADING)
    for one in order:
        height = counts[one] * unit
        found[one] = Node(one, counts[one], x, round(y, 1), round(max(height, 1.0), 1), kinds[one])
        y += max(height, 14.0) + _LEAST + GAP / 3
    return found


def _ribbon(x: float, y: float, to_x: float, to_y: float, thick: float) -> str:
    middle = (x + to_x) / 2
    return (
        f"M{x:.1f},{y:.1f} C{middle:.1f},{y:.1f} {middle:.1f},{to_y:.1f} {to_x:.1f},{to_y:.1f} "
        f"V{to_y + thick:.1f} C{middle:.1f},{to_y + thick:.1f} {middle:.1f},{y + thick:.1f} {x:.1f},{y + thick:.1f} Z"
    )


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram: what it counts, and where it is drawn."""

    label: str
    count: int
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Histogram:
    """The number of students by share of the points."""

    width: int
    height: int
    bars: tuple[Bar, ...]
    text: str


def histogram(shares: Sequence[float]) -> Histogram:
    """Bars for tenths of the points; the last one is for all points.

    Args:
        shares: of the points, each from 0 to 1.
    """
    labels = [*(f"{10 * i}" for i in range(10)), "100"]
    counts = [0] * len(labels)
    for share in shares:
        counts[min(len(labels) - 1, int(10 * share + 1e-9))] += 1
    width, base, tallest = 44, 130, max([1, *counts])
    bars = tuple(
        Bar(label, count, i * width + 4, base - 100 * count / tallest, width - 8, 100 * count / tallest)
        for i, (label, count) in enumerate(zip(labels, counts, strict=True))
    )
    text = ", ".join(
        f"{count} with {label}{'' if label == '100' else f' to {int(label) + 9}'}%"
        for label, count in zip(labels, counts, strict=True)
        if count
    )
    return Histogram(width * len(labels), base + 36, bars, text or "nobody")
