"""Expected and got, side by side and small enough to read."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor

ROWS, COLUMNS = 2, 3
HUGE = 1e300
DIGITS = (4, 6, 9)  # of a number: as many as show a difference


def deviation(expected: Tensor, got: Tensor) -> float:
    """Largest difference; infinity where only one of them is finite or complex, or the infinities differ."""
    if expected.shape != got.shape or expected.is_complex() != got.is_complex():
        return float("inf")
    if expected.is_complex():
        expected, got = torch.view_as_real(expected), torch.view_as_real(got)
    if not expected.numel():
        return 0.0
    largest = float((expected.double() - got.double()).abs().max())
    if math.isfinite(largest):  # mostly; to look for NaN and infinity takes three times as long
        return largest
    return float(_apart(expected, got).max())


def values_in_words(name: str, right: Tensor, got: Tensor) -> str:
    """Two values of one name that differ: shape, dtype, or an excerpt of each."""
    if right.shape != got.shape:
        return f"expected {name} of shape {list(right.shape)}, got {list(got.shape)}."
    if right.dtype != got.dtype:
        return f"expected {name} in {right.dtype}, got {got.dtype}."
    if right.dim() == 0:
        digits = next((n for n in DIGITS if _number(right, n) != _number(got, n)), DIGITS[-1])
        return f"{name}: expected {_number(right, digits)}, got {_number(got, digits)}."
    place, where = worst(right, got)
    a, b = right[place], got[place]
    if _excerpt(a) == _excerpt(b):  # what differs comes later
        start = index_of_largest(_apart(a, b))
        where = f"[{', '.join([*map(str, place), *(f'{i}:' for i in start)])}]"
        rest = tuple(slice(i, None) for i in start)
        a, b = a[rest], b[rest]
    digits = next((n for n in DIGITS if _excerpt(a, n) != _excerpt(b, n)), DIGITS[-1])
    off = deviation(right, got)
    countable = (
        right.dtype != torch.bool and off < HUGE
    )  # between a number and infinity there is no difference
    note = f", largest difference {off:.2g}" if countable else ""
    return f"{name}{where}{note}\n  expected {_excerpt(a, digits)}\n  got      {_excerpt(b, digits)}"


def _apart(right: Tensor, got: Tensor) -> Tensor:
    a, b = right.double(), got.double()
    same = (a == b) | (a.isnan() & b.isnan())
    return (a - b).abs().nan_to_num(float("inf")).masked_fill(same, 0.0)


def index_of_largest(apart: Tensor) -> tuple[int, ...]:
    """Torch's own `unravel_index` imports sympy, which takes 0.4 s."""
    return tuple(int(i) for i in np.unravel_index(int(apart.argmax()), apart.shape))


def worst(right: Tensor, got: Tensor) -> tuple[tuple[int, ...], str]:
    """The leading indices of the largest difference, for one matrix, and in words."""
    lead = max(right.dim() - 2, 0)
    if not lead:
        return (), ""
    place = index_of_largest(_apart(right, got).flatten(lead).amax(-1).view(right.shape[:lead]))
    return place, f"[{', '.join(map(str, place))}]"


def _excerpt(x: Tensor, digits: int = 4) -> str:
    rows = x.unsqueeze(0) if x.dim() == 1 else x
    shown = [
        "[" + ", ".join(_number(v, digits) for v in row[:COLUMNS]) + _more(row) + "]" for row in rows[:ROWS]
    ]
    return " ".join(shown) + _more(rows, ROWS)


def counted(names: Iterable[str]) -> str:
    """Names in order, each once, with how often it comes: "k (3 times), q"; "none" if there are none."""
    found = Counter(sorted(names))
    return ", ".join(f"{name} ({n} times)" if n > 1 else name for name, n in found.items()) or "none"


def _more(x: Tensor, shown: int = COLUMNS) -> str:
    return " ..." if x.size(0) > shown else ""


def _number(x: Tensor, digits: int = 4) -> str:
    if x.dtype == torch.bool:
        return str(bool(x))
    return f"{float(x) + 0.0:.{digits}g}"  # no -0
