"""Mutants are files with one change, at the lines that they say."""

from __future__ import annotations

import ast
import itertools
from functools import cache

import pytest

from grader.catalog import get_exercises
from grader.mutants.mutants import OPERATORS, SCOPED, File, Mutant, drawn, mutants
from tests import solution_file
from tests.grader.right import right_files

SHORT = ["masks", "feedforward", "loss"]


@cache
def found(exercise: str) -> list[Mutant]:
    return mutants(solution_file(exercise).read_text(encoding="utf-8"))


@pytest.mark.parametrize("exercise", SHORT)
def test_nothing_but_the_changed_lines_differs(exercise: str) -> None:
    lines = solution_file(exercise).read_text(encoding="utf-8").splitlines()
    assert len(found(exercise)) > 30
    for mutant in found(exercise):
        changed = mutant.text.splitlines()
        assert len(changed) == len(lines)
        differing = [
            i for i, pair in enumerate(zip(lines, changed, strict=True), start=1) if pair[0] != pair[1]
        ]
        assert differing
        assert mutant.line <= differing[0]
        assert differing[-1] <= mutant.end_line
        ast.parse(mutant.text)


def test_every_operator_finds_a_place() -> None:
    used: set[str] = set()
    for exercise in get_exercises():
        for text in right_files(exercise).values():
            used |= {candidate.operator for candidate in File(text).candidates()}
    assert used == {*OPERATORS, *SCOPED}


def test_there_are_thousands() -> None:
    assert (
        sum(1 for name in SHORT for text in right_files(name).values() for _ in File(text).candidates())
        > 3000
    )


@pytest.mark.parametrize(
    "text",
    [
        "def f(x: int | None) -> list[int | str]:\n    return None\n",
        'def f():\n    """One -1."""\n    raise ValueError(f"{1}")\n',
        "def f():\n    print(1 - 2)\n",
    ],
    ids=["types", "messages", "prints"],
)
def test_what_nobody_computes_with_is_no_place_for_a_mistake(text: str) -> None:
    assert all("return" in text.splitlines()[mutant.line - 1] for mutant in mutants(text))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("self.x = y", ["x = y"]),
        ("y = F.relu(x)", ["y = F.softplus(x)"]),
        ("y = x.mean(-1)", ["y = x.median(-1).values"]),
        ("y = torch.einsum('bqd,bkd->bqk', q, k)", ["y = torch.einsum('bqd,bkd->bkq', q, k)"]),
        ("y = x.masked_fill(mask, 0)", ["y = x.masked_fill(~mask, 0)", "y = x.masked_fill_(mask, 0)"]),
        ("y = x.tril().exp()", ["y = x.exp().tril()"]),
        ("y = q @ k", ["y = (k @ q)", "y = (q @ k).detach()", "y = (q @ k).half().float()"]),
        ("y = x[:n]", ["y = x[:]", "y = x[:n - 1]", "y = x[:n + 1]"]),
        ("y = [f() for _ in range(n)]", ["y = ([f()] * n)", "y = [f() for _ in range(1, n)]"]),
        ("self.register_buffer('a', x)", ["self.a = x", "self.a = torch.nn.Parameter(x)"]),
        ("y = p if self.training else q", ["y = p if True else q", "y = q", "y = p if (not self.training) else q"]),
        ("x = x.f()", ["x.f()", "pass"]),
        ("y = g(x.T, eps=1e-06)", ["y = g(x, eps=1e-06)", "y = g(x.T, eps=0.0)", "y = g(x.T)"]),
    ],
)  # fmt: skip
def test_what_operators_make(text: str, wanted: list[str]) -> None:
    function = "def f(self, x):\n    {}\n"
    made = {mutant.text for mutant in mutants(function.format(text))}
    assert made >= {function.format(one) for one in wanted}


def test_statements_that_depend_on_each_other_are_swapped() -> None:
    text = "def f(x):\n    y = x + 1\n    z = y\n    w = 1\n    return z\n"
    swapped = [mutant.text for mutant in mutants(text) if mutant.operator == "statements swapped"]
    assert swapped == ["def f(x):\n    z = y\n    y = x + 1\n    w = 1\n    return z\n"]


def test_a_longer_sample_begins_with_the_shorter_one() -> None:
    texts = list(right_files("masks").values())
    short, long = (list(itertools.islice(drawn(texts, "0"), count)) for count in (20, 60))
    assert long[:20] == short
    assert len({mutant.text for _, mutant in long}) == 60
    assert len({number for number, _ in long}) > 5
    assert list(itertools.islice(drawn(texts, "1"), 20)) != short
