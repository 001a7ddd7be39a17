"""Small changes that may undo a mistake, each in its line."""

from __future__ import annotations

import ast
import re
from itertools import islice
from typing import Any

import pytest

from grader.edits.changed_part import size_of_change
from grader.edits.edits import Edits
from grader.edits.ending import MOST_ITEMS, Ending, calls_itself, ending
from tests.grader.right import right_files

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
        return part

    def most(self, x):
        a, b = x, x
        parts = [self.forward(x)] * 2
        x = torch.einsum("ij->ij", x)
        return x.relu_()
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
        (9, "y = (-x).softmax(dim=-2).transpose(1, 2)"),
        (9, "y = (self.forward((-x).softmax(dim=-2)))"),
        (12, "z *= y @ x / 3"),
        (14, "return z.tril().sum(-1)[:]"),
        (14, "return (z.sum(-1).tril())[1:]"),
        (22, "self.a, b = (x, x)"),
        (23, "parts = ([self.forward(x) for _ in range(2)])"),
        (24, "x = torch.einsum('ij->ji', x)"),
        (25, "return (x.relu())"),
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
    lines, found = zip(*Edits(TEXT).among([12], [9], [10]), strict=True)
    assert lines[0] == 12
    edits = ("y @ x * 3", "mask is not None", "dim=-1")
    other, inverted, along = (next(n for n, text in enumerate(found) if edit in text) for edit in edits)
    assert other < inverted < along  # a condition decides much
    assert {*lines} == {9, 10, 11, 12}  # before 11 something may be missing


def test_changed_loops_end() -> None:
    text = "def f(x):\n    while x > 0:\n        x = x - 1\n    else:\n        x = x - 7\n    return x\n"
    assert {line for line, _ in Edits(text).among([2, 3, 4], [])} == {2, 3}
    kept = text.replace("x = x - 1", "pass")
    decorated = text.replace("def f", "import functools; cached = functools.cache\n\n@cached\ndef f")
    for changed, found in ((text, -7), (decorated, -7), (kept, 5 - 7)):
        names: dict[str, Any] = {}
        exec(ending(changed), names)
        assert names["f"](5) == found


def test_loops_over_lists_that_grow_end() -> None:
    text = "def f(x):\n    for one in x: x.append(one)\n    return x\n"
    names: dict[str, Any] = {}
    exec(ending(text), names)
    assert len(names["f"]([1])) > 1


def test_lists_that_grow_by_what_reads_them_end() -> None:
    changed = "rows = [1]\nrows += filter(None, rows)\nrows += (one for one in rows)\n"
    made: dict[str, list[int]] = {}
    exec(ending(changed), made)
    assert made["rows"] == [1, 1, 1, 1]


def test_comprehensions_end() -> None:
    text = "def f(x):\n    return [(i, f'{[j for j in x]}') for i in __import__('itertools').count() for _ in x]\n"
    names: dict[str, Any] = {}
    exec(ending(text), names)
    assert names["f"]("a")[:2] == [(0, "['a']"), (1, "['a']")]
    assert ending("def f(x):\n    return x\n") == "def f(x):\n    return x\n"


def test_iterators_of_itertools_end() -> None:
    text = (
        "from itertools import cycle as again\nimport itertools\n\n"
        "def f(x):\n    return list(itertools.count(x)), list(again([x])), [x].count(x)\n"
    )
    names: dict[str, Any] = {}
    exec(ending(text), names)
    counted, repeated, once = names["f"](3)
    assert (len(counted), len(repeated), once) == (MOST_ITEMS, MOST_ITEMS, 1)
    assert counted[:3] == [3, 4, 5]


def test_recursion_without_end_ends() -> None:
    text = "from __future__ import annotations\n\ndef f(x):\n    return f(x[1:]) + f(x[:-1]) if x else [0]\n"
    assert calls_itself(text)
    assert not calls_itself(text.replace("def f", "def g"))
    assert not calls_itself("class A(B):\n    def __init__(self):\n        super().__init__()\n")
    names: dict[str, Any] = {}
    exec(ending(text, recursive=True), names)
    assert names["f"]([1]) == [0, 0]
    with pytest.raises(AssertionError, match="too long"):
        names["f"](list(range(99)))


@pytest.mark.parametrize("exercise", ["attention", "decoding", "kv_cache", "training"])
@pytest.mark.sampled(4)
def test_a_change_put_into_the_file_with_its_guards_ends_as_one_with_its_own(exercise: str) -> None:
    differ = 0
    for text in islice(right_files(exercise).values(), 6):
        of_file, lines = Ending(text), range(1, len(text.splitlines()) + 1)
        for _, changed in islice(Edits(text, lines).among(lines[::7], [], fairly=True), 60):
            found, expected = of_file.of(changed), ending(changed, recursive=calls_itself(text))
            assert _without_names(found) == _without_names(expected)
            differ += found != changed
    assert differ > 60


def _without_names(text: str) -> str:
    """A program with guards: their variables have names by line, and one of them is made at any place of the head."""
    tree = ast.parse(text)
    tree.body = [one for one in tree.body if not ast.unparse(one).startswith("_early = ")]
    names: dict[str, str] = {}
    return re.sub(
        r"_rounds_\d+", lambda found: names.setdefault(found[0], f"_{len(names)}"), ast.unparse(tree)
    )


def test_the_dimensions_of_an_index_are_exchanged() -> None:
    changed = {text for _, text in Edits("def f(x, i):\n    return x[:, i]\n").among([2], [])}
    assert "def f(x, i):\n    return x[i, :]\n" in changed


def test_only_what_ran_is_changed() -> None:
    assert {line for line, _ in Edits(TEXT, ran=[8, 9, 10]).among([], [], range(1, 20))} == {5, 8, 9, 10}


def test_constants_of_right_code_are_tried() -> None:
    text = "def f(x):\n    return x / 1e-3 + 40\n"
    found = {
        changed.splitlines()[1].strip()
        for _, changed in Edits(text, right="eps, width = 1e-9, 512").among([2], [])
    }
    assert {"return x / 1e-09 + 40", "return x / 1e-3 + 512"} <= found


def test_conditions_are_forced() -> None:
    forced = {text.splitlines()[line - 1].strip() for line, text in Edits(TEXT).forced()}
    assert {"if (True):", "if (False):", "if (mask is not None):", "if (y is None):"} <= forced


OTHERS = """import torch
from torch import nn


class Part(nn.Module):
    def __init__(self, size):
        self.first = nn.Linear(size, size)
        self.second = self.first
        self.register_buffer("table", torch.randn(size))
        self.last = nn.LayerNorm(size)

    def forward(self, x, heads):
        y = self.first * (x + self.second).to(x.dtype)
        y = x + self.last(y)
        y = self.last(x) + y
        y = x = self.last(y)
        z = x.view(x.size(0), heads, x.size(1), -1)
        w = x.view(x.size(0), x.size(1), -1, heads).permute(0, 3, 1, 2)
        return self.first(self.last(x), self.last(x))
"""


@pytest.mark.parametrize(
    ("line", "new"),
    [
        (8, "self.second = nn.Linear(size, size)"),
        (9, "self.table = nn.Parameter(torch.randn(size))"),
        (13, "y = ((self.first * x + self.second).to(x.dtype))"),
        (14, "y = (self.last(x + y))"),
        (15, "y = (self.last(x + y))"),
        (16, "y = self.last(y)"),
        (17, "z = (x.view(x.size(0), x.size(1), heads, -1).transpose(-3, -2))"),
        (18, "w = (x.view(x.size(0), x.size(1), heads, -1).transpose(1, 2))"),
        (19, "return self.first(x, x)"),
    ],
)
def test_parentheses_layouts_and_what_self_gets_are_changed(line: int, new: str) -> None:
    assert new in {
        text.splitlines()[line - 1].strip() for at, text in Edits(OTHERS).among([line], []) if at == line
    }


def test_a_module_that_should_not_be_there_does_nothing() -> None:
    forced = [text.splitlines()[9].strip() for at, text in Edits(OTHERS).forced() if at == 10]
    assert forced == ["self.last = nn.Identity()"]


@pytest.mark.parametrize(
    ("new", "size"),
    [
        ("z = y @ x * 3", 2),
        ("z = x @ y / 3", 4),
        ("z = (y @ x / 3).tril()", 3),
        ("z = (y @ x / 3)", 0),
        ("z = -(y @ x / 3)", 1),
    ],
)
def test_the_size_of_a_change(new: str, size: int) -> None:
    assert size_of_change(TEXT, TEXT.replace("z = y @ x / 3", new)) == size
