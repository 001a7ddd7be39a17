"""A gradebook with a small class in it, graded by nobody: outcomes are made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from grader.catalog import get_exercises
from grader.classroom import finals
from grader.classroom.discovery import discover
from grader.classroom.gradebook import Gradebook
from grader.classroom.grading import record
from grader.classroom.pool import Job, Outcome
from grader.classroom.roster import Roster, read_roster
from zoo.cli.root import make_cli
from zoo.core.plugins import get_plugins

KEY = {"grader": "1", "torch": "2", "device": "cpu", "sandbox": "strict", "seed": 0, "selection": "masking"}
Zoo = Callable[..., Result]


@pytest.fixture
def zoo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Zoo:
    """Run `zoo` in `tmp_path`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*words: object) -> Result:
        return CliRunner().invoke(make_cli(get_plugins()), [str(word) for word in words], prog_name="zoo")

    return run


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def a_test(name: str, status: str, mistakes: tuple[str, ...] = (), points: float = 2.0) -> dict[str, Any]:
    return {
        "name": name,
        "title": f"title of {name}",
        "category": "masking",
        "status": status,
        "points": points if status == "passed" else 0.0,
        "max_points": points,
        "message": "" if status == "passed" else f"wrong in {name}",
        "mistakes": [
            {
                "id": one,
                "text": f"Text of {one}.",
                "formula": "",
                "hint": "Look.",
                "source": "",
                "where": {"line": 7},
            }
            for one in mistakes
        ],
        "picture": "",
        "duration_s": 0.1,
    }


def report(*results: dict[str, Any], exercise: str = "masks") -> dict[str, Any]:
    one = {
        "exercise": exercise,
        "title": "Masks",
        "file": f"{exercise}.py",
        "components": ["f"],
        "device": "cpu",
    }
    return {**one, "seed": 0, "results": list(results), "duration_s": 1.0, "sandbox": "strict"}


def fill(book: Gradebook, reports: dict[str, dict[str, Any] | str]) -> None:
    """Grade each submission as its content says: a key of `reports`; a text there is the reason of a broken grader."""
    for row in book.all(
        "SELECT DISTINCT exercise, sha256, content FROM submissions JOIN sources USING (sha256)"
    ):
        found = reports[row["content"].decode().strip()]
        job = Job(0, row["exercise"], row["content"], 0, "cpu", ("masking",))
        key = {**KEY, "sha256": row["sha256"]}
        if isinstance(found, str):
            book.add_grading(key, Outcome(job, "broken", found, tries=2))
        else:
            book.add_grading(key, Outcome(job, "graded", "", found, 1.0, 0.5))
    finals.compute(book)


RIGHT = report(a_test("t.one", "passed"), a_test("t.two", "passed"))
WRONG = report(a_test("t.one", "failed", ("inverted",)), a_test("t.two", "passed"))
OTHER = report(a_test("t.one", "failed", ("transposed",)), a_test("t.two", "passed"))
UNNAMED = report(a_test("t.one", "failed"), a_test("t.two", "skipped"))
REPORTS: dict[str, dict[str, Any] | str] = {
    "right": RIGHT,
    "wrong": WRONG,
    "other": OTHER,
    "unnamed": UNNAMED,
    "broken": "KeyError: 'x'",
}


def enter(book: Gradebook, folder: Path, roster: Path | None = None) -> None:
    people: Roster | None = read_roster(roster) if roster is not None else None
    record(book, discover(folder, get_exercises()), people)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Gradebook]:
    """An empty gradebook, open for writing."""
    with Gradebook(tmp_path / "gradebook.sqlite", write=True) as opened:
        yield opened
