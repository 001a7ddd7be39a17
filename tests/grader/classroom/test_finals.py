"""Which attempt counts, what being late costs, and what a person decides."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.classroom import finals, late
from grader.classroom.gradebook import Gradebook, Row
from grader.classroom.names import Names
from grader.classroom.overview import summarize
from grader.classroom.pool import Job, Outcome
from tests.grader.classroom.conftest import KEY, REPORTS, Zoo, enter, fill, put
from zoo.core.errors import PluginError, ZooError

DUE = late.read_deadline("2026-03-01T12:00+00:00")


def stamped(days: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(DUE + days * late.DAY_S))


def attempts(folder: Path, exercise: str = "masks", **tries: tuple[str, float]) -> Path:
    """Attempts as nbgrader collects them: name of the attempt -> content, days after the deadline."""
    for name, (text, days) in tries.items():
        put(folder, {f"anna/{name}/{exercise}.py": text, f"anna/{name}/timestamp.txt": stamped(days)})
    return folder


def rule(book: Gradebook, name: str, exercise: str = "", **options: float) -> None:
    with book.transaction():
        book.execute(
            "INSERT OR REPLACE INTO late_rules VALUES (?, ?, ?, ?)",
            (exercise, DUE, name, json.dumps(options)),
        )


def final(book: Gradebook, exercise: str = "masks") -> Row:
    row = book.one("SELECT * FROM finals WHERE exercise = ?", (exercise,))
    assert row is not None
    return row


def test_the_last_attempt_before_the_deadline_counts(book: Gradebook, tmp_path: Path) -> None:
    enter(book, attempts(tmp_path / "in", a=("wrong", -2), b=("right", -1), c=("other", 1)))
    rule(book, "none")
    fill(book, REPORTS)
    assert final(book)["points"] == 4
    assert [row["attempt"] for row in book.all("SELECT attempt FROM submissions ORDER BY path")] == [1, 2, 3]


def test_without_a_deadline_the_last_one_counts(book: Gradebook, tmp_path: Path) -> None:
    enter(book, attempts(tmp_path / "in", a=("right", -2), b=("wrong", -1)))
    fill(book, REPORTS)
    assert final(book)["points"] == 2


def test_attempts_without_times_are_in_the_order_of_their_numbers(book: Gradebook, tmp_path: Path) -> None:
    folder = put(
        tmp_path / "in",
        {f"lee_1_2_masks{end}.py": text for end, text in (("-2", "c"), ("-10", "d"), ("", "a"))},
    )
    for file in folder.iterdir():
        os.utime(file, (DUE, DUE))
    enter(book, folder)
    file = folder / "lee_1_2_masks.py"
    file.write_text("b")  # written over, later
    os.utime(file, (DUE + 1, DUE + 1))
    enter(book, folder)
    rows = book.all("SELECT content FROM submissions JOIN sources USING (sha256) ORDER BY attempt")
    assert [row["content"] for row in rows] == [b"a", b"b", b"c", b"d"]


def test_the_best_one_if_that_is_the_rule(book: Gradebook, tmp_path: Path) -> None:
    enter(book, attempts(tmp_path / "in", a=("wrong", -2), b=("right", 1)))
    rule(book, "percent", per_day=60)
    with book.transaction():
        book.set("attempts", "best")
    fill(book, REPORTS)
    assert final(book)["points"] == 2  # 4 less 60 % is less than 2
    rule(book, "percent", per_day=10)
    finals.compute(book)
    assert (final(book)["points"], final(book)["penalty"]) == (3.6, pytest.approx(0.4))


@pytest.mark.parametrize(
    ("days", "options", "points"),
    [
        (-0.1, {}, 4),
        (0.01, {}, 3.6),
        (1.0, {}, 3.6),
        (1.01, {}, 3.2),
        (3, {"per_day": 50}, 0),
        (2, {"per_day": 1, "max_days": 1}, 0),
    ],
)
def test_per_cent_a_day(
    book: Gradebook, tmp_path: Path, days: float, options: dict[str, float], points: float
) -> None:
    enter(book, attempts(tmp_path / "in", a=("right", days)))
    rule(book, "percent", **options)
    fill(book, REPORTS)
    assert final(book)["points"] == pytest.approx(points)


def test_grace_days_are_shared_by_all_exercises(book: Gradebook, tmp_path: Path) -> None:
    attempts(tmp_path / "in", a=("right", 1.5))
    attempts(tmp_path / "in", "norm", b=("right", 1.5))
    enter(book, tmp_path / "in")
    rule(book, "grace", days=3, per_day=25)
    fill(book, REPORTS)
    assert (final(book)["points"], final(book, "norm")["points"]) == (4, 3)
    assert final(book, "norm")["note"] == "1 grace day used; 1 day late: -25 %"


def test_the_time_of_a_file_makes_nothing_late(book: Gradebook, tmp_path: Path) -> None:
    folder = put(tmp_path / "in", {"anna/masks.py": "right"})
    os.utime(folder / "anna" / "masks.py", (DUE + 1e7, DUE + 1e7))
    enter(book, folder)
    rule(book, "percent")
    fill(book, REPORTS)
    assert (final(book)["points"], final(book)["late_s"]) == (4, 0)


def test_marked_late_by_canvas_costs_a_day(book: Gradebook, tmp_path: Path) -> None:
    enter(book, put(tmp_path / "in", {"leeanna_LATE_12_34_masks.py": "right"}))
    rule(book, "percent")
    fill(book, REPORTS)
    assert final(book)["points"] == 3.6
    assert "marked late" in final(book)["note"]


def test_a_broken_grader_gives_no_points_and_never_zero(book: Gradebook, tmp_path: Path) -> None:
    enter(book, put(tmp_path / "in", {"anna/masks.py": "broken"}))
    fill(book, REPORTS)
    assert (final(book)["state"], final(book)["points"]) == ("broken", None)


def test_a_grade_over_the_time_limit_gives_no_points_and_a_huge_file_none(
    book: Gradebook, tmp_path: Path
) -> None:
    enter(book, put(tmp_path / "in", {"anna/masks.py": "slow", "ben/norm.py": "huge"}))
    for state, exercise in (("stopped", "masks"), ("unloadable", "norm")):
        row = book.one("SELECT * FROM submissions WHERE exercise = ?", (exercise,))
        assert row is not None
        outcome = Outcome(Job(0, exercise, b"", 0, "cpu", ()), state, "why")
        book.add_grading({**KEY, "sha256": row["sha256"]}, outcome)
    finals.compute(book)
    assert (final(book)["state"], final(book)["points"], final(book)["note"]) == ("stopped", None, "why")
    assert (final(book, "norm")["state"], final(book, "norm")["points"]) == ("unloadable", 0)
    assert [one["student"] for one in summarize(book, Names(book))["needs_a_person"]] == ["anna"]


def half(given: late.Late) -> late.Verdict:
    return late.Verdict(given.points / 2, note=f"{given.days}")


def too_much(given: late.Late) -> late.Verdict:
    return late.Verdict(given.points + 1)


@pytest.mark.parametrize(("rule_of", "works"), [(half, True), (too_much, False), (len, False)])
def test_a_rule_of_a_plugin(
    book: Gradebook,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    rule_of: Callable[..., object],
    works: bool,
) -> None:
    one = late.LateRule("mine", "x", "nowhere:nothing")
    monkeypatch.setattr(late, "get_rules", lambda: {"mine": one})
    with pytest.raises(PluginError, match="cannot be loaded"):
        one.load()
    monkeypatch.setattr(late.LateRule, "load", lambda _self: rule_of)
    enter(book, attempts(tmp_path / "in", a=("right", 2)))
    fill(book, REPORTS)
    rule(book, "mine")
    if works:
        finals.compute(book)
        assert (final(book)["points"], final(book)["note"]) == (2, "2")
    else:
        with pytest.raises(PluginError, match="late rule 'mine'"):
            finals.compute(book)
        assert final(book)["points"] == 4  # as before


def test_deadlines() -> None:
    assert late.read_deadline("2026-03-01T13:00+01:00") == DUE
    assert late.read_deadline("2026-03-01") == late.read_time("2026-03-01 23:59:59")
    assert late.read_time("2026-03-01") == late.read_time("2026-03-01 00:00")
    with pytest.raises(ZooError, match="not a valid date"):
        late.read_deadline("tomorrow")


@pytest.mark.parametrize("zone", ["UTC", "Etc/GMT-14", "Etc/GMT+12"])
def test_deadlines_at_the_ends_of_the_calendar(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as local:
        local.setenv("TZ", zone)
        time.tzset()
        for text in ("9999-12-31 23:59-14:00", "0001-01-01 00:00+14:00"):
            for read in (late.read_deadline, late.read_time):
                with pytest.raises(ZooError, match="is outside the years 1 to 9999 in UTC"):
                    read(text)
        assert late.read_time("0001-01-01 00:00+00:00") == -62135596800
        assert late.read_time("9999-12-31 23:59:59+00:00") == 253402300799
    time.tzset()


def test_a_deadline_in_the_first_year_is_a_usage_error(zoo: Zoo, tmp_path: Path) -> None:
    with Gradebook(tmp_path / "gradebook.sqlite", write=True):
        pass
    done = zoo("class", "late", "--due", "0001-01-01 00:00+00:01")
    assert (done.exit_code, "'0001-01-01 00:00+00:01' is outside the years" in done.stderr) == (2, True)


def test_overrides_and_late_on_the_command_line(zoo: Zoo, tmp_path: Path) -> None:
    with Gradebook(tmp_path / "gradebook.sqlite", write=True) as book:
        enter(book, attempts(tmp_path / "in", a=("right", 0.5)))
        fill(book, REPORTS)
    due = "2026-03-01T12:00+00:00"
    assert zoo("class", "late", "--due", due, "--rule", "percent", "--per-day", 50).exit_code == 0
    listed = json.loads(zoo("class", "late", "--json").stdout)
    assert listed["rules"][0]["rule"] == "percent"
    assert listed["rules"][0]["options"] == {"per_day": 50.0}
    shown = json.loads(zoo("class", "show", "anna", "--json").stdout)
    assert shown["exercises"][0]["points"] == 2
    done = zoo("class", "override", "anna", "masks", "3.5", "--reason", "ill", "--who", "me")
    assert (done.exit_code, done.stdout) == (0, "anna, masks: 3.5 points.\n")
    shown = json.loads(zoo("class", "show", "anna", "--json").stdout)["exercises"][0]
    assert (shown["points"], shown["note"], shown["state"]) == (3.5, "set to 3.5 by me: ill", "override")
    assert zoo("class", "override", "anna", "masks", "--remove", "--reason", "well").exit_code == 0
    shown = json.loads(zoo("class", "show", "anna", "--json").stdout)["exercises"][0]
    assert (shown["points"], [one["reason"] for one in shown["overrides"]]) == (2, ["ill", "well"])
    assert zoo("class", "override", "nobody", "masks", "1", "--reason", "x").exit_code == 2
    for words, sentence in (
        (("5",), "5 points are more than masks is worth; expected at most 4."),
        (("inf",), "inf is not a number of points"),
        (("nan",), "nan is not a number of points"),
        (("--remove",), "There is no override of anna's points for masks to remove."),
    ):
        done = zoo("class", "override", "anna", "masks", *words, "--reason", "x")
        assert (done.exit_code, sentence in " ".join(done.stderr.split())) == (2, True), done.output
    assert json.loads(zoo("class", "show", "anna", "--json").stdout)["exercises"][0] == shown
    assert zoo("class", "override", "anna", "masks", "1", "--reason", " ").exit_code == 2
