"""Plain Python values of a run: how alike two of them are, and where they differ."""

from __future__ import annotations

import difflib
import math

from grader.core.value_trace import Plain
from grader.places.value_names import short


def number_text(value: Plain) -> str:
    """A plain value in few characters."""
    return f"{value:.6g}" if isinstance(value, float) else short(repr(value))


def kind(value: Plain) -> str:
    """The name of its type; integers and floats are both numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return type(value).__name__
    return "number"


def likeness(a: Plain, b: Plain) -> float:
    """Return the similarity of two plain values, 0 to 1."""
    if isinstance(a, list) and isinstance(b, list):
        if not a and not b:
            return 1.0
        if all(isinstance(x, (int, str)) for x in (*a, *b)):
            return difflib.SequenceMatcher(None, [*map(str, a)], [*map(str, b)], autojunk=False).ratio()
        pairs = [likeness(x, y) for x, y in zip(a[:20], b[:20], strict=False)]
        return sum(pairs) / max(1, min(20, max(len(a), len(b))))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        size = max(abs(a), abs(b))
        return 1.0 if a == b else max(0.0, 1 - abs(a - b) / size) if math.isfinite(size) and size else 0.0
    if isinstance(a, str) and isinstance(b, str):
        return difflib.SequenceMatcher(None, a, b, autojunk=False).ratio()
    return float(a == b)


def first_difference(a: Plain, b: Plain) -> tuple[str, Plain, Plain]:
    """Return where two plain values first differ: an index, and both there."""
    path = ""
    while isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and a:
        if len(a) <= 6 and not any(isinstance(one, list) for one in a):
            break
        index = next((i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y), None)
        if index is None:
            break
        path, a, b = f"{path}[{index}]", a[index], b[index]
    return path, a, b
