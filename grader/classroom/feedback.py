"""Feedback: one self-contained page per student, with the points, the attempts, and the report of each graded file.

Students get these pages, so they leave out what a learner may not see: `grader.reports.for_learners`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from grader.classroom.gradebook import Gradebook, Row
from grader.classroom.names import Names
from grader.classroom.overview import STATES, describe_student
from grader.classroom.stored import read_grade, read_source
from grader.reports import html
from grader.reports.next_steps import out_of
from zoo.pages.rendering import render

TEMPLATE = "grader.classroom/feedback.html"


def feedback_pages(book: Gradebook, names: Names, exercise: str = "") -> Mapping[int, tuple[str, str]]:
    """A file name and a page for each student who has a grade or has handed something in, by number of the student.

    Args:
        book: the gradebook.
        names: of the students.
        exercise: this exercise only; "": all.
    """
    found: dict[int, tuple[str, str]] = {}
    files = names.files()
    for number in names.people:
        page = feedback_page(book, names, number, exercise)
        if page:
            found[number] = f"{files[number]}.html", page
    return found


def feedback_page(book: Gradebook, names: Names, student: int, exercise: str = "") -> str:
    """The page of one student; "" where there is nothing to say."""
    known = describe_student(book, student, names)
    exercises = [one for one in known["exercises"] if exercise in ("", one["exercise"])]
    if not exercises:
        return ""
    graded: list[tuple[dict[str, Any], html.File | None]] = []
    versions: dict[str, None] = {}
    for number, one in enumerate(exercises, 1):
        row = book.one(
            "SELECT g.report, g.grader, g.torch, f.content FROM finals n JOIN gradings g ON g.id = n.grading "
            "JOIN sources f USING (sha256) WHERE n.student = ? AND n.exercise = ?",
            (student, one["exercise"]),
        )
        file = None
        if row is not None and row["report"] is not None:
            file = html.File(_grade(row, names), f"exercise-{number}-", hidden=True)
            versions[f"grader {row['grader']}, torch {row['torch']}"] = None
        graded.append((one, file))
    return render(
        TEMPLATE,
        styles=["grader.reports/grade.css", "grader.classroom/class.css"],
        name=names.label(student),
        exercises=graded,
        states=STATES,
        statuses=html.STATUSES,
        out_of=out_of,
        versions="; ".join(versions),
    )


def _grade(row: Row, names: Names) -> Any:
    grade = read_grade(row["report"], names.hide)
    return replace(grade, source=names.hide(read_source(row["content"])))
