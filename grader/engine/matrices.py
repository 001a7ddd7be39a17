"""Differences as matrices that a report can draw: masks, weights, influence, and other values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from torch import Tensor

from grader.core.failures import Matrices
from grader.engine.contrast import MAPS, differing
from grader.engine.scenario import Observation, Scenario
from grader.engine.wording import worst

LARGEST = 24  # rows and columns of a matrix; of a larger one, those around the largest difference
MOST = 3
MAP_AXES = {
    "*: influence*": ("output position", "input position"),
    "*: allowed keys*": ("query", "key"),
    "*: keys": ("sentence", "key"),
}


def axes_of(axes: Mapping[str, Sequence[str]], scenario: Scenario, name: str) -> Sequence[str]:
    """Names of the dimensions of a value, () where they are not known. Args: axes: see `Subject`; maps come first."""
    value = f"{scenario.component}, {scenario.title}: {name}"
    return next((names for pattern, names in {**MAP_AXES, **axes}.items() if fnmatchcase(value, pattern)), ())


def matrices_of(
    scenario: Scenario, right: Observation, got: Observation, axes: Mapping[str, Sequence[str]]
) -> Sequence[Matrices]:
    """At most `MOST` values that differ, maps (of influence, say) before others. Args: axes: see `Subject`."""
    if right.error is not None or got.error is not None:
        return ()
    names = differing(scenario, right, got)
    names.sort(key=lambda name: not name.startswith(tuple(MAPS)))
    found = (_matrices(scenario, name, right, got, axes_of(axes, scenario, name)) for name in names)
    return [one for matrices in found for one in matrices][:MOST]


def _matrices(
    scenario: Scenario, name: str, right: Observation, got: Observation, axes: Sequence[str]
) -> Iterator[Matrices]:
    a, b = right.values.get(name), got.values.get(name)
    if a is None or b is None or a.shape != b.shape or a.numel() < 2 or a.is_complex() or b.is_complex():
        return
    place, where = worst(a, b)
    leading = zip(axes, place, strict=False) if len(axes) == a.dim() else ()
    down, across = ("", "", *axes[-a.dim() :])[-2:]
    a, b = (x[place].reshape(-1, x.size(-1)).detach() for x in (a, b))  # [rows, columns]
    if not a.numel():
        return
    off = (a.double() - b.double()).abs().nan_to_num(float("inf"))
    row, column = divmod(int(off.argmax()), a.size(1))
    top, left = _start(row, a.size(0)), _start(column, a.size(1))
    legend = next((said for start, said in MAPS.items() if name.startswith(start)), "")
    yield Matrices(
        name + where,
        legend.replace("x where", "True where") or f"{scenario.component}, {scenario.title}",
        _rows(a[top : top + LARGEST, left : left + LARGEST]),
        _rows(b[top : top + LARGEST, left : left + LARGEST]),
        (top, left),
        (a.size(0), a.size(1)),
        (down, across),
        ", ".join(f"{name} {index}" for name, index in leading if name),
    )


def _start(place: int, size: int) -> int:
    """Return the start of a window of `LARGEST` with `place` near its middle."""
    return max(0, min(place - LARGEST // 2, size - LARGEST))


def _rows(x: Tensor) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in x.tolist())
