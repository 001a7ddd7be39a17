"""Summaries of a class and of a student from the gradebook, as plain data."""

from __future__ import annotations

import statistics
from typing import Any

from grader.classroom.finals import LATEST_GRADINGS, lateness
from grader.classroom.gradebook import Gradebook, Row
from grader.classroom.names import Names
from grader.core.results import clean

STATES = {
    "graded": "graded",
    "unloadable": "could not be loaded",
    "refused": "rejected: against the rules",
    "stopped": "stopped at a limit",
    "broken": "not graded: internal error of the grader",
    "waiting": "not graded yet",
    "missing": "nothing submitted",
    "override": "set by hand",
}
"""What each state of a submission or a grade is called."""


def summarize(book: Gradebook, names: Names) -> dict[str, Any]:
    """Students, submissions and states by exercise, and what needs a person."""
    finals = book.all(
        "SELECT f.*, g.passed, g.reason, u.marked_late, u.submitted_at, u.time_source FROM finals f "
        "JOIN students s ON s.id = f.student LEFT JOIN gradings g ON g.id = f.grading "
        "LEFT JOIN submissions u ON u.id = f.submission ORDER BY f.exercise, s.key"
    )
    exercises: dict[str, list[Row]] = {}
    for row in finals:
        exercises.setdefault(row["exercise"], []).append(row)
    needs = [
        {
            "student": names.label(row["student"]),
            "exercise": row["exercise"],
            "state": row["state"],
            "reason": clean(names.hide(row["reason"] or row["note"] or ""), 300),
        }
        for row in finals
        if row["points"] is None and row["state"] not in ("waiting", "missing")
    ]
    waiting = _count(
        book,
        "SELECT count(*) FROM submissions WHERE (exercise, sha256) NOT IN (SELECT exercise, sha256 FROM gradings)",
    )
    selections: dict[str, list[str]] = {}
    for row in book.all(
        "SELECT DISTINCT f.exercise, g.selection FROM finals f JOIN gradings g ON g.id = f.grading ORDER BY 1, 2"
    ):
        selections.setdefault(row["exercise"], []).append(row["selection"])
    return {
        "students": _count(book, "SELECT count(*) FROM students"),
        "in_roster": _count(book, "SELECT count(*) FROM students WHERE in_roster"),
        "without_submission": [
            names.label(row["id"])
            for row in book.all(
                "SELECT id FROM students WHERE id NOT IN (SELECT student FROM submissions) ORDER BY key"
            )
        ],
        "submissions": _count(book, "SELECT count(*) FROM submissions"),
        "waiting": waiting,
        "gradings": _count(book, "SELECT count(*) FROM gradings"),
        "cpu_hours": _count(book, "SELECT coalesce(sum(cpu_s), 0) FROM gradings") / 3_600,
        "exercises": [_exercise(name, rows) for name, rows in exercises.items()],
        "mixed": {name: found for name, found in selections.items() if len(found) > 1},
        "needs_a_person": needs,
        "unplaced": [
            {"path": names.path(row["path"]), "reason": row["reason"]}
            for row in book.all("SELECT * FROM unplaced ORDER BY path")
        ],
    }


def _count(book: Gradebook, query: str) -> Any:
    row = book.one(query)
    return 0 if row is None else row[0]


def _exercise(name: str, rows: list[Row]) -> dict[str, Any]:
    points = [row["points"] for row in rows if row["points"] is not None]
    states: dict[str, int] = {}
    for row in rows:
        states[row["state"]] = states.get(row["state"], 0) + 1
    return {
        "exercise": name,
        "students": len(rows),
        "passed": sum(bool(row["passed"]) for row in rows),
        "mean": round(statistics.fmean(points), 3) if points else None,
        "median": statistics.median(points) if points else None,
        "max_points": max((row["max_points"] for row in rows if row["max_points"] is not None), default=None),
        "late": sum(bool(row["late_s"] or row["marked_late"]) for row in rows),
        "states": dict(sorted(states.items())),
    }


def describe_student(book: Gradebook, student: int, names: Names) -> dict[str, Any]:
    """One student: attempts, points, mistakes, late penalties, overrides."""
    finals = {row["exercise"]: row for row in book.all("SELECT * FROM finals WHERE student = ?", (student,))}
    attempts = book.all(
        f"SELECT s.*, g.id AS grading, g.state, g.reason, g.points, g.max_points, g.graded_at FROM submissions s "
        f"LEFT JOIN ({LATEST_GRADINGS}) g ON g.exercise = s.exercise AND g.sha256 = s.sha256 "
        "WHERE s.student = ? ORDER BY s.exercise, s.attempt",
        (student,),
    )
    due = {row["exercise"]: row["due"] for row in book.all("SELECT * FROM late_rules")}
    exercises = sorted({row["exercise"] for row in attempts} | finals.keys())
    person = names[student]
    return {
        "key": person.key,
        "name": person.name,
        "email": person.email,
        "section": person.section,
        "ids": person.ids,
        "in_roster": person.in_roster,
        "exercises": [
            {
                "exercise": exercise,
                **_final(finals.get(exercise), names),
                "attempts": [
                    _attempt(book, row, finals.get(exercise), due.get(exercise, due.get("")), names)
                    for row in attempts
                    if row["exercise"] == exercise
                ],
                "overrides": []
                if names.anonymous
                else [
                    {one: row[one] for one in ("points", "reason", "who", "at")}
                    for row in book.all(
                        "SELECT * FROM overrides WHERE student = ? AND exercise = ? ORDER BY id",
                        (student, exercise),
                    )
                ],
            }
            for exercise in exercises
        ],
    }


def _final(row: Row | None, names: Names) -> dict[str, Any]:
    if row is None:
        return dict.fromkeys(("raw", "penalty", "points", "max_points", "note")) | {"state": "waiting"}
    found = {name: row[name] for name in ("state", "raw", "penalty", "points", "max_points", "note")}
    if names.anonymous and row["state"] == "override":  # a person's reason may have names in it
        found["note"] = ""
    return found


def _attempt(book: Gradebook, row: Row, final: Row | None, due: float | None, names: Names) -> dict[str, Any]:
    late, late_s = lateness(row, due)
    return {
        "attempt": row["attempt"],
        "path": names.path(row["path"]),
        "sha256": row["sha256"],
        "submitted_at": row["submitted_at"],
        "time_source": row["time_source"],
        "late": late,
        "late_s": late_s,
        "commit": names.path(row["commit_id"]),
        "state": row["state"] or "waiting",
        "reason": names.hide(row["reason"] or ""),
        "points": row["points"],
        "max_points": row["max_points"],
        "counts": final is not None and final["submission"] == row["id"],
        "mistakes": [
            {"id": one["mistake"], "text": one["text"], "test": one["test"], "line": one["line"]}
            for one in book.all("SELECT * FROM diagnoses WHERE grading = ? ORDER BY place", (row["grading"],))
        ],
    }
