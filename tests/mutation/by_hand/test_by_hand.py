"""The mistakes written by hand: each can be made, has wrong lines, and is measured as a mutant is."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from grader.catalog import get_exercises
from tests.grader.grades import without_names
from tests.mutation.by_hand.__main__ import CASES, HEAD, job_of, main, of, table
from tests.mutation.by_hand.case import Case
from tests.mutation.by_hand.slips import SLIPS
from tests.mutation.measure import graded, identity, unpassed
from tests.mutation.pool import lost

SAMPLE = [next(case for case in SLIPS if case.exercise == name) for name in get_exercises()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.exercise} {case.title} {case.what:.30}")
def test_each_makes_another_file_with_wrong_lines(case: Case) -> None:
    right, wrong = case.texts()  # raises where a text is not there just once
    assert identity(wrong) != identity(right)
    compile(wrong, case.what, "exec")
    lines, count = case.wrong_lines(), len(wrong.splitlines())
    assert lines
    assert all(1 <= line <= count and wrong.splitlines()[line - 1].strip() for line in lines)


def test_no_two_are_the_same() -> None:
    assert len({identity(case.texts()[1]) for case in CASES}) == len(CASES)


def test_every_exercise_has_some() -> None:
    assert {case.exercise for case in CASES} == set(get_exercises())
    assert min(len(of(name)) for name in get_exercises()) > 12


def test_text_that_is_not_there_is_refused() -> None:
    case = SAMPLE[0]
    with pytest.raises(ValueError, match="not there just once"):
        replace(case, changes=(("no such text", ""),)).texts()
    with pytest.raises(ValueError, match="not in the wrong file"):
        replace(case, fragments=("no such text",)).wrong_lines()


@pytest.mark.parametrize(
    ("changes", "fragments", "wrong"),
    [
        ((("b = 2", "b = 3"),), (), {2}),
        ((("b = 2\n", ""),), (), {1, 2}),
        ((("b = 2\n", "\nx = 0\nb = 2\n"),), (), {3}),
        ((("a = 1", "a = 0"), ("c = 3", "c = 0")), (), {1, 3}),
        ((("b = 2", "b = 0"), ("c = 3", "c = 0")), ("= 0",), {2, 3}),
        ((("b = 2", "b = 0"),), ("b = 0\nc",), {2}),
    ],
)
def test_wrong_lines(
    changes: tuple[tuple[str, str], ...], fragments: tuple[str, ...], wrong: set[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    text = {"title": "a = 1\nb = 2\nc = 3\n"}
    monkeypatch.setattr("tests.mutation.by_hand.case.right_files", lambda exercise: text)
    assert Case("masks", "title", "", changes, fragments).wrong_lines() == wrong


def test_the_csv_and_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = SAMPLE[0]
    monkeypatch.setattr("tests.mutation.by_hand.__main__.CASES", (case,))
    rows = main(["--only", case.exercise, "--jobs", "0", "--output", str(tmp_path / "rows.csv")])
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        (found,) = csv.DictReader(file)
    assert (found["exercise"], found["number"], found["what"]) == (case.exercise, "1", case.what)
    assert (found["killed"], found["line"]) == ("True", rows[0].place)
    assert found["wrong"].split() == [str(line) for line in sorted(case.wrong_lines())]
    assert f"| {case.exercise} | 1 | 100.0% |" in capsys.readouterr().out


def test_what_survives_is_not_left_out_of_the_table() -> None:
    row = replace(lost(job_of(SAMPLE[0])), place="right", named="a")
    text = table([row, replace(row, killed=False, place="", equal="500")])
    assert text.splitlines()[0] == "| " + " | ".join(HEAD) + " |"
    assert "| masks | 2 | 50.0% | 100.0% | 100.0% | 0.0% | 0.0% |" in text


@pytest.mark.slow
@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.exercise)
def test_one_of_each_exercise_is_killed(case: Case) -> None:
    nothing = {"naming_budget_s": 0.0, "locating_budget_s": 0.0}
    with without_names():
        assert unpassed(graded(case.exercise, case.texts()[1], 0, nothing))
