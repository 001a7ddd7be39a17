"""Mutants are measured as they are: killed, named, at their place; equal, endless; right files too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.mutants.mutants import Mutant
from tests import solution_file
from tests.mutation.__main__ import counts, main, read, table
from tests.mutation.measure import UNCHANGED, Row, measure, verdict
from tests.mutation.pool import Job, lost

TEXT = solution_file("feedforward").read_text(encoding="utf-8")
LINE = next(number for number, line in enumerate(TEXT.splitlines(), start=1) if "self.up(x)" in line)


def of(old: str, new: str, operator: str = "", *, name: bool = False) -> Row:
    assert old in TEXT
    mutant = Mutant(operator, LINE, LINE, TEXT.replace(old, new))
    return measure("feedforward", ("solution", TEXT), mutant, seed=0, name=name)


def test_one_that_is_killed() -> None:
    row = of("self.up(x).relu()", "self.up(x).abs()")
    assert row.killed
    assert row.place == ("right" if str(LINE) in row.lines.split() else "wrong")
    assert "self.up(x).abs()" in row.change
    assert row.seconds > 0


def test_one_that_is_known() -> None:
    row = of("self.up(x).relu()", "self.up(x)", name=True)
    assert row.named == "activation-missing"


def test_one_that_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.mutation.measure.EQUAL", 200)
    row = of("self.up(x).relu()", "self.up(x).relu() * 1")
    assert (row.killed, row.place) == (False, "")
    assert int(row.equal) > 100


def test_one_that_is_right_by_the_numbers_of_one_seed_differs_on_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tests.mutation.measure.EQUAL", 200)
    row = of("self.up(x).relu()", "self.up(x).relu() * (1 + (x.flatten()[0] > 1.7))")
    assert row.killed or row.equal.startswith("differs")


def test_one_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.mutation.measure.ENDLESS_S", 0.3)
    row = of("return", "while True:\n            pass\n        return")
    assert (row.killed, row.place, row.why) == (True, "none", "endless")


def test_one_that_raises_says_where() -> None:
    row = of("self.up(x)", "self.upp(x)")
    assert (row.killed, row.place, row.why) == (True, "right", "error")
    assert row.said == "`self.upp` is never assigned | `self.up`"


@pytest.mark.parametrize(
    ("operator", "shown", "found"),
    [
        ("", (3,), "right"),
        ("", (9, 3), "right"),
        ("", (2,), "wrong"),
        ("statement left out", (2,), "right"),
        ("statement left out", (5,), "right"),
        ("statement left out", (6, 1), "wrong"),
    ],
)
def test_the_changed_line_is_the_right_place(operator: str, shown: tuple[int, ...], found: str) -> None:
    text = "a = 1\nb = 2\nc = 3\n\nd = 4\ne = 5\n"
    assert verdict(text, Mutant(operator, 3, 3, text), shown) == found
    assert verdict(text, Mutant(operator, 3, 3, text), ()) == "none"


def test_counts_leave_out_what_changes_nothing() -> None:
    job = Job("masks", ("solution", ""), Mutant("call left out", 1, 1, ""))
    killed = replace(lost(job), place="right", named="a", seconds=2.0)
    rows = [
        killed,
        replace(killed, place="wrong", named="", said="", seconds=4.0),
        replace(killed, killed=False, equal="500"),
        replace(killed, killed=False, equal="differs, seed 1"),
        replace(killed, operator=UNCHANGED),
        replace(killed, operator=UNCHANGED, killed=False, lines="3"),
        replace(killed, operator=UNCHANGED, killed=False),
    ]
    one = counts(rows)
    assert (one.mutants, one.equal, one.failed) == (4, 1, 2)
    assert (one.killed, one.explained, one.right, one.wrong, one.none) == (2 / 3, 0.5, 0.5, 0.5, 0.0)
    assert (one.median_s, one.worst_s) == (3.0, 4.0)
    assert "| masks | 4 | 1 | 66.7% | 50.0% |" in table(rows)


def test_what_is_measured_already_is_not_measured_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.mutation.measure.EQUAL", 20)
    monkeypatch.setattr(
        "tests.mutation.__main__.right_files",
        lambda exercise: {"solution": solution_file(exercise).read_text()},
    )
    command = ["--exercise", "masks", "--jobs", "0", "--output", str(tmp_path / "rows.csv"), "--sample"]
    first = main([*command, "2"])
    assert capsys.readouterr().out.count("\nmasks") == 2
    assert [row.operator == UNCHANGED for row in first] == [True, False, False]
    again = main([*command, "3"])
    assert capsys.readouterr().out.splitlines()[0].startswith("masks")
    assert again[:3] == first
    assert read(tmp_path / "rows.csv") == again
