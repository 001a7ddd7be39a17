"""Expected and got, side by side and small enough to read."""

from __future__ import annotations

import torch
from torch import Tensor

from grader.engine.cases import Case, Observation
from grader.engine.compare import deviation

ROWS, COLUMNS = 2, 3
HUGE = 1e300
CALLED = {"function": "scaled_dot_product_attention", "class": "MultiHeadAttention"}


def compared(case: Case, names: list[str], right: Observation, got: Observation) -> tuple[str, str]:
    """What a test says about one wrong case, and a picture of the mask ("" without one)."""
    head = f"{CALLED[case.part]}, {case.title}:"
    return f"{head} {_difference(names[0], right, got)}", _mask_picture(case)


def _difference(name: str, right: Observation, got: Observation) -> str:
    if got.error is not None:
        where = f" (line {got.error.line})" if got.error.line is not None else ""
        return f"expected a result, got {got.error.type_name}: {got.error.message}{where}"
    if name == "form":
        wanted = {"pair": "a pair (output, weights)", "tensor": "one tensor", "error": "a ValueError"}
        return f"expected {wanted.get(right.form, right.form)}, got {wanted.get(got.form, got.form)}."
    if name == "changed":
        return f"expected the inputs as they were, got {', '.join(sorted(got.changed))} changed in place."
    if name == "shape":
        name = next(n for n, x in right.values.items() if n in got.values and x.shape != got.values[n].shape)
    if name not in got.values:
        return f"expected {name}, got nothing of that name."
    return values_in_words(name, right.values[name], got.values[name])


def values_in_words(name: str, right: Tensor, got: Tensor) -> str:
    """Two values of one name that differ: shape, dtype, or an excerpt of each."""
    if right.shape != got.shape:
        return f"expected {name} of shape {list(right.shape)}, got {list(got.shape)}."
    if right.dtype != got.dtype:
        return f"expected {name} in {right.dtype}, got {got.dtype}."
    if right.dim() == 0 and right.dtype == torch.bool:  # see `grader.engine.cases.finite_only`
        said = {True: "finite", False: "NaN or infinite"}
        return f"{name}: expected {said[bool(right)]}, got {said[bool(got)]}."
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


def _mask_picture(case: Case) -> str:
    """The first sentence's mask: a dot for what may not be attended to."""
    if case.mask is None:
        return ""
    seen = case.mask if case.mask.dtype == torch.bool else case.mask == 0
    rows, columns = case.inputs[0].size(-2), case.inputs[1].size(-2)
    while seen.dim() > 2:
        seen = seen[0]
    seen = seen.expand(rows, columns)
    lines = [" ".join("x" if cell else "." for cell in row) for row in seen.tolist()]
    return "\n".join(["the mask (rows: queries, columns: keys; x = may be attended to, . = may not)", *lines])
