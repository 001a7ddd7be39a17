"""Small changes that may undo a mistake, each in its line."""

from __future__ import annotations

import ast

import pytest

from grader.engine.edits import Edits

TEXT = """import torch


class Part:
    def __init__(self, size, bias=True):
        self.first, self.second = size, bias

    def forward(self, x, mask=None):
        y = (-x).softmax(dim=-2)
        if mask is None:
            return self.first
        z = y @ x / 3
        z.sqrt()
        return z.tril().sum(-1)[1:]

    def more(self, x):
        part = x.sum()
        torch.cat([part])
"""


def edited(line: int) -> set[str]:
    """The line in all its changed versions."""
    return {
        text.splitlines()[line - 1].strip()
        for at, text in Edits(TEXT).among([line], [])
        if at == line and len(text.splitlines()) == len(TEXT.splitlines())
    }


@pytest.mark.parametrize(
    ("line", "new"),
    [
        (9, "y = (-x).softmax(dim=(-1))"),
        (9, "y = (x).softmax(dim=-2)"),
        (9, "y = ((-x).log_softmax(dim=-2))"),
        (9, "y = (-(mask)).softmax(dim=-2)"),
        (10, "if (mask is not None):"),
        (10, "if (not mask is None):"),
        (11, "return (self.second)"),
        (12, "z = (y @ x * 3)"),
        (12, "z = (x @ y) / 3"),
        (12, "z = (y @ x)"),
        (12, "z = (y @ x / 3 ** 0.5)"),
        (14, "return (z.triu()).sum(-1)[1:]"),
        (14, "return (z.tril(diagonal=1)).sum(-1)[1:]"),
        (14, "return (z.tril().sum(-1, keepdim=True))[1:]"),
        (14, "return z.tril().sum(-1)[2:]"),
        (13, "z = z.sqrt()"),
        (17, "self.part = x.sum()"),
        (18, "return torch.cat([part])"),
        (5, "def __init__(self, size, bias=False):"),
    ],
)
def test_a_line_is_changed(line: int, new: str) -> None:
    found = edited(line)
    assert ast.unparse(ast.parse(_whole(new))) in {
        ast.unparse(ast.parse(_whole(one))) for one in found if _runs(one)
    }


def _whole(line: str) -> str:
    return f"def f():\n    {line}" + ("\n        pass" if line.endswith(":") else "")


def _runs(line: str) -> bool:
    try:
        ast.parse(_whole(line))
    except SyntaxError:
        return False
    return True


def test_suspected_lines_come_first() -> None:
    lines = [line for line, _ in Edits(TEXT).among([12], [9], [10])]
    assert lines[0] == 12
    assert lines.index(12) < lines.index(10) < lines.index(9)  # a condition decides much
    assert set(lines) == {9, 10, 12}


def test_nothing_is_changed_that_may_loop_for_ever() -> None:
    text = "def f(x):\n    while x > 0:\n        x = x - 1\n    return x\n"
    assert {line for line, _ in Edits(text).among([2, 3, 4], [])} == {4}


def test_conditions_are_forced() -> None:
    forced = {text.splitlines()[line - 1].strip() for line, text in Edits(TEXT).forced()}
    assert {"if (True):", "if (False):", "if (mask is not None):", "if (y is None):"} <= forced
