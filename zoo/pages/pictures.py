"""Pictures for a page: files of other programs as data, matrices as cells of one colour each."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass

MOST_CELLS = 64  # rows or columns that are drawn


def image(data: bytes) -> str:
    """The `src` of an `img` for a PNG or an SVG. As an image an SVG keeps its own styles and runs nothing.

    Raises:
        ValueError: it is neither.
    """
    if data.startswith(b"\x89PNG"):
        kind = "png"
    elif b"<svg" in data[:1000]:
        kind = "svg+xml"
    else:
        raise ValueError("expected a PNG or an SVG")
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}"


@dataclass(frozen=True)
class Cell:
    """A cell of a heat map: its value in words, its colour, and whether dark text can be read on it."""

    text: str
    colour: str
    light: bool
    differs: bool


def heat_map(
    values: Sequence[Sequence[float]],
    *,
    low: float | None = None,
    high: float | None = None,
    other: Sequence[Sequence[float]] | None = None,
) -> list[list[Cell]]:
    """Cells for the macro `heat_map`, at most `MOST_CELLS` rows and columns.

    Args:
        values: a matrix; True and False too.
        low, high: what the ends of the colours are; the smallest and the largest finite value by default.
        other: a matrix of the same shape; where it differs by more than 1e-4 of the range, a cell is framed.
    """
    finite = [float(x) for row in values for x in row if math.isfinite(x)]
    low = min(finite, default=0.0) if low is None else low
    high = max(finite, default=1.0) if high is None else high
    span = (high - low) or 1.0
    cells: list[list[Cell]] = []
    for i, row in enumerate(values[:MOST_CELLS]):
        cells.append([])
        for j, x in enumerate(row[:MOST_CELLS]):
            differs = other is not None and not _near(float(x), float(other[i][j]), span)
            share = min(1.0, max(0.0, (float(x) - low) / span)) if math.isfinite(x) else None
            text = _word(x, float(other[i][j]) if differs and other is not None else None)
            cells[-1].append(Cell(text, colour(share), share is not None and share > 0.47, differs))
    return cells


def _near(a: float, b: float, span: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= 1e-4 * abs(span)


def _word(x: float, other: float | None) -> str:
    """A number in at most seven characters; with a digit or two more where it would look like the `other` otherwise."""
    if isinstance(x, bool):
        return str(x)
    text = f"{x:.3g}"
    if other is not None and text == f"{other:.3g}":
        text = next((longer for n in (4, 5) if (longer := f"{x:.{n}g}") != f"{other:.{n}g}"), text)
    return text if len(text) <= 7 else f"{x:.1e}".replace("e-0", "e-").replace("e+0", "e")


CIVIDIS = ((0, 34, 78), (66, 77, 107), (125, 124, 120), (187, 173, 108), (254, 232, 56))
"""Colours that the colour-blind can read: Nunez et al., 2018, "Optimizing colormaps", in five steps."""


def colour(share: float | None) -> str:
    """The colour of a share of the range, from 0 to 1; magenta for what is not finite."""
    if share is None:
        return "#b3007d"
    place = share * (len(CIVIDIS) - 1)
    first = min(int(place), len(CIVIDIS) - 2)
    mixed = (
        round(a + (b - a) * (place - first)) for a, b in zip(CIVIDIS[first], CIVIDIS[first + 1], strict=True)
    )
    return "#" + "".join(f"{one:02x}" for one in mixed)
