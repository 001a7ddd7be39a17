"""Mutants are files with one change, at the lines that they say."""

from __future__ import annotations

import ast

import pytest

from grader.catalog import get_exercises
from grader.core.mutation import OPERATORS, Mutant, mutants
from tests import solution_file
from tests.mutation.__main__ import measure, verdict

FOUND = {name: mutants(solution_file(name).read_text(encoding="utf-8")) for name in get_exercises()}


@pytest.mark.parametrize("exercise", FOUND)
def test_nothing_but_the_changed_lines_differs(exercise: str) -> None:
    lines = solution_file(exercise).read_text(encoding="utf-8").splitlines()
    assert len(FOUND[exercise]) > 10
    for mutant in FOUND[exercise]:
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
    used = {mutant.operator for some in FOUND.values() for mutant in some}
    assert used == {*OPERATORS, "wrong variable"}


def test_a_type_is_no_place_for_a_mistake() -> None:
    assert not mutants("def f(x: int | None) -> list[int | str]:\n    return x\n")


@pytest.mark.parametrize(
    ("old", "new", "line", "place"),
    [
        ("self.up(x).relu()", "self.up(x)", 23, "right"),
        ("self.up(x).relu()", "self.up(x).relu() * 1", 23, ""),
    ],
)
def test_a_mutant_is_measured(old: str, new: str, line: int, place: str) -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8")
    row = measure("feedforward", text, Mutant("call left out", line, line, text.replace(old, new)), seed=0)
    assert (row.killed, row.place) == (bool(place), place)


def test_no_place_is_not_a_wrong_one() -> None:
    assert verdict(Mutant("", 1, 1, ""), None) == "none"
