"""Exports: grades in the forms that platforms read, and everything in long tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from grader.classroom.export_cells import Choice, Row, csv_text, finals_of
from grader.classroom.finals import LATEST_GRADINGS
from grader.classroom.gradebook import Gradebook
from grader.classroom.names import Names
from grader.classroom.platforms import canvas, gradescope, moodle, nbgrader


def _gradings(book: Gradebook, choice: Choice, columns: str, join: str) -> list[Row]:
    """Rows of each submission's grading, with the student's number first."""
    rows = book.all(
        f"SELECT s.student, s.exercise, s.attempt, s.path, {columns} FROM submissions s "
        f"LEFT JOIN ({LATEST_GRADINGS}) g ON g.exercise = s.exercise AND g.sha256 = s.sha256 {join} "
        "WHERE (:exercise = '' OR s.exercise = :exercise) ORDER BY s.exercise, s.student, s.attempt",
        {"exercise": choice.exercise},
    )
    return [dict(row) for row in rows]


def _long(book: Gradebook, choice: Choice, columns: Sequence[str], select: str, join: str) -> str:
    names = Names(book, anonymous=choice.anonymous)
    rows = [
        [
            names[row["student"]].key,
            names[row["student"]].name,
            *(row[one] for one in ("exercise", "attempt")),
            names.path(row["path"]),
            *(names.hide(row[one]) if isinstance(row[one], str) else row[one] for one in columns),
        ]
        for row in _gradings(book, choice, select, join)
    ]
    return csv_text(("student", "name", "exercise", "attempt", "path", *columns), rows)


def submissions(book: Gradebook, choice: Choice) -> str:
    """A row for each submission."""
    columns: tuple[str, ...] = (
        "state",
        "reason",
        "points",
        "max_points",
        "passed",
        "grader",
        "torch",
        "device",
    )
    columns += ("sandbox", "seed", "duration_s", "cpu_s", "tries")
    return _long(book, choice, columns, ", ".join(f"g.{one}" for one in columns), "")


def results(book: Gradebook, choice: Choice) -> str:
    """A row for each test of each submission."""
    columns = ("name", "title", "category", "status", "points", "max_points", "message")
    renamed = ("test", *columns[1:])
    select = ", ".join(f"r.{old} AS {new}" for old, new in zip(columns, renamed, strict=True))
    return _long(book, choice, renamed, select, "JOIN results r ON r.grading = g.id")


def mistakes(book: Gradebook, choice: Choice) -> str:
    """A row for each mistake of each submission."""
    columns = ("test", "mistake", "text", "hint", "line")
    return _long(
        book,
        choice,
        columns,
        ", ".join(f"d.{one}" for one in columns),
        "JOIN diagnoses d ON d.grading = g.id",
    )


def grades(book: Gradebook, choice: Choice) -> str:
    """A row for each final grade."""
    students, exercises, finals = finals_of(book, choice)
    columns = ("state", "raw", "penalty", "points", "max_points", "late_s", "note")
    rows = [
        [
            person.key,
            person.name,
            person.email,
            person.section,
            exercise,
            *(_cell(finals, number, exercise, one) for one in columns),
        ]
        for exercise in exercises
        for number, person in students.items()
    ]
    return csv_text(("student", "name", "email", "section", "exercise", *columns), rows)


def _cell(finals: Mapping[tuple[int, str], Row], number: int, exercise: str, column: str) -> object:
    row = finals.get((number, exercise))
    return ("missing" if column == "state" else "") if row is None else row[column]


def as_json(book: Gradebook, choice: Choice) -> str:
    """Everything about every student, as an array."""
    from grader.classroom.overview import describe_student

    names, found = Names(book, anonymous=choice.anonymous), []
    for number in names.people:
        one = describe_student(book, number, names)
        if choice.exercise:
            one["exercises"] = [each for each in one["exercises"] if each["exercise"] == choice.exercise]
        found.append(one)
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def feedback(book: Gradebook, choice: Choice) -> dict[str, str]:
    """A self-contained page per student, by file name."""
    from grader.classroom.feedback import feedback_pages

    names = Names(book, anonymous=choice.anonymous)
    return dict(feedback_pages(book, names, choice.exercise).values())


Export = Callable[[Gradebook, Choice], "str | dict[str, str]"]
FORMATS: dict[str, Export] = {
    "grades": grades,
    "canvas": canvas,
    "moodle": moodle,
    "gradescope": gradescope,
    "nbgrader": nbgrader,
    "submissions": submissions,
    "tests": results,
    "mistakes": mistakes,
    "json": as_json,
    "feedback": feedback,
}
"""By name; one that gives several files writes a folder."""
