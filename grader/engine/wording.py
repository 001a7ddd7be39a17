"""Expected and got, side by side and small enough to read."""

from __future__ import annotations

import torch
from torch import Tensor

ROWS, COLUMNS = 2, 3
HUGE = 1e300


def deviation(expected: Tensor, got: Tensor) -> float:
    """Largest difference; infinity where only one of them is finite, or the infinities differ."""
    if expected.shape != got.shape:
        return float("inf")
    if not expected.numel():
        return 0.0
    a, b = expected.double(), got.double()
    same = (a == b) | (a.isnan() & b.isnan())
    return float((a - b).abs().nan_to_num(float("inf")).masked_fill(same, 0.0).max())


def values_in_words(name: str, right: Tensor, got: Tensor) -> str:
    """Two values of one name that differ: shape, dtype, or an excerpt of each."""
    if right.shape != got.shape:
        return f"expected {name} of shape {list(right.shape)}, got {list(got.shape)}."
    if right.dtype != got.dtype:
        return f"expected {name} in {right.dtype}, got {got.dtype}."
    if right.dim() == 0:
        return f"{name}: expected {_number(right)}, got {_number(got)}."
    place, where = _worst(right, got)
    off = deviation(right, got)
    countable = (
        right.dtype != torch.bool and off < HUGE
    )  # between a number and infinity there is no difference
    note = f", largest difference {off:.2g}" if countable else ""
    return f"{name}{where}{note}\n  expected {_excerpt(right[place])}\n  got      {_excerpt(got[place])}"


def _worst(right: Tensor, got: Tensor) -> tuple[tuple[int, ...], str]:
    """The leading indices of the largest difference, for an excerpt of one matrix."""
    lead = max(right.dim() - 2, 0)
    if not lead:
        return (), ""
    off = (right.double() - got.double()).abs().nan_to_num(float("inf"))
    index = torch.unravel_index(off.flatten(lead).amax(-1).argmax(), right.shape[:lead])
    place = tuple(int(i) for i in index)
    return place, f"[{', '.join(map(str, place))}]"


def _excerpt(x: Tensor) -> str:
    rows = x.unsqueeze(0) if x.dim() == 1 else x
    shown = ["[" + ", ".join(_number(v) for v in row[:COLUMNS]) + _more(row) + "]" for row in rows[:ROWS]]
    return " ".join(shown) + _more(rows, ROWS)


def _more(x: Tensor, shown: int = COLUMNS) -> str:
    return " ..." if x.size(0) > shown else ""


def _number(x: Tensor) -> str:
    if x.dtype == torch.bool:
        return str(bool(x))
    return f"{float(x):.4g}"
