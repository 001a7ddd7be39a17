"""Which input positions reach which output positions: a picture in text."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grader.engine.cases import Case
from grader.engine.subjects import Patched, Subject
from grader.exercises.attention.reference import REFERENCE

MOVED = 1e-5


def influence(case: Case, subject: Subject) -> str:
    """The map of the subject beside the right one, or "" if there is nothing to tell."""
    case = replace(case, cotangents=None, digest=None)
    theirs, right = _reached(case, subject), _reached(case, Patched(REFERENCE))
    if theirs is None or right is None or theirs.shape != right.shape or torch.equal(theirs, right):
        return ""
    rows = [f"{_row(a)}      {_row(b)}" for a, b in zip(right.tolist(), theirs.tolist(), strict=True)]
    gap = " " * (2 * right.size(1) - 1 - len("right") + 6)
    title = "which output position (row) changes when an input position (column) does"
    return "\n".join([title, f"right{gap}yours", *rows])


def _row(cells: list[bool]) -> str:
    return " ".join("x" if cell else "." for cell in cells)


def _reached(case: Case, subject: Subject) -> Tensor | None:
    """bool [Tq, Tk]: does output t of the first sentence move when key and value s do?"""
    before = subject.run(case).values.get("output")
    if before is None or before.dim() != 3:
        return None
    columns = []
    for position in range(case.inputs[1].size(1)):
        query, key, value = (x.clone() for x in case.inputs)
        key[0, position] += 0.5
        value[0, position] -= 0.7
        after = subject.run(replace(case, inputs=(query, key, value))).values.get("output")
        if after is None or after.shape != before.shape:
            return None
        columns.append((after[0] - before[0]).abs().amax(-1) > MOVED)
    return torch.stack(columns, -1)
