"""Pages of a class: similar files, misconceptions, the report for the instructor, and one page per student."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from grader.classroom import similar
from grader.classroom.drawings import Flow, flow, histogram
from grader.classroom.examples import Example, Unnamed
from grader.classroom.gradebook import Gradebook
from grader.classroom.misconceptions import Findings, Misconception, Move, TestUse, find
from grader.classroom.names import Names
from grader.classroom.overview import STATES, summarize
from zoo.pages.listing import Line, Mark, listing
from zoo.pages.rendering import render

STYLES = ("grader.classroom/class.css",)
MOST_PAIRS = 40  # side by side on a page
_HERE = "grader.classroom"
_ORDER = ("never passes", "passes weaker files", "", "never fails")  # of tests, by verdict

Pairs = list[tuple[similar.Match, list[tuple[similar.Side, list[Line]]]]]


@dataclass(frozen=True)
class Facts:
    """The misconceptions of a class, ready to be shown.

    Attributes:
        found: all of it.
        mistakes: each with its examples and their lines.
        unnamed: failures without a name with the lines of an example.
        flows: by exercise, where students have tried more than once.
        tests: those that may be wrong first, those that never fail last.
    """

    found: Findings
    mistakes: list[tuple[Misconception, list[tuple[Example, list[Line]]]]]
    unnamed: list[tuple[Unnamed, list[Line]]]
    flows: list[Flow]
    tests: list[TestUse]


def facts(found: Findings) -> Facts:
    """Put lines and drawings to what was found."""
    moves: dict[str, list[Move]] = {}
    for move in found.moves:
        moves.setdefault(move.exercise, []).append(move)
    flows = [flow(exercise, some) for exercise, some in sorted(moves.items())]
    return Facts(
        found,
        [
            (one, [(place, _lines(place)) for place in one.places if place.lines])
            for one in found.misconceptions
        ],
        [(one, _lines(one.example)) for one in found.unnamed],
        [one for one in flows if one is not None],
        sorted(found.tests, key=lambda one: (_ORDER.index(one.verdict), -one.failed, one.exercise, one.test)),
    )


def _lines(example: Example) -> list[Line]:
    """The lines of an example with the place marked; none where the place is not known."""
    if not example.line:
        return []
    marks = []
    for line in range(example.line, example.end_line + 1):
        known = example.column is not None and example.end_column is not None
        start = (example.column or 1) - 1 if known and line == example.line else 0
        end = (example.end_column or 1) - 1 if known and line == example.end_line else None
        marks.append(Mark(line - example.before + 1, start, end if known else 0))
    shown = listing("\n".join(example.lines), marks)
    return [replace(one, number=one.number + example.before - 1) for one in shown]


@dataclass(frozen=True)
class StudentRow:
    """A row of the table of students: name, link to the student's page or "", and a cell per exercise."""

    name: str
    link: str
    section: str
    cells: list[dict[str, Any] | None]
    share: float | None


def report_page(
    book: Gradebook,
    names: Names,
    *,
    exercise: str = "",
    alike: similar.Similarity | None = None,
    links: Mapping[int, str] | None = None,
) -> str:
    """The report for the instructor: grades, misconceptions, tests, late, similar, what needs a person.

    Args:
        book: the gradebook.
        names: of the students.
        exercise: this exercise only; "": all.
        alike: similar files; None: they were not looked for.
        links: to the students' own pages.
    """
    finals = [
        dict(row)
        for row in book.all(
            "SELECT f.*, u.marked_late, u.submitted_at, u.attempt, g.reason FROM finals f "
            "LEFT JOIN submissions u ON u.id = f.submission LEFT JOIN gradings g ON g.id = f.grading "
            "WHERE (:exercise = '' OR f.exercise = :exercise)",
            {"exercise": exercise},
        )
    ]
    for one in finals:
        one["name"] = names.label(one["student"])
        one["note"] = "" if names.anonymous and one["state"] == "override" else names.hide(one["note"])
        one["share"] = (
            one["points"] / one["max_points"] if one["points"] is not None and one["max_points"] else None
        )
    finals.sort(key=lambda one: (one["exercise"], one["name"]))
    exercises = sorted({one["exercise"] for one in finals})
    cells = {(one["student"], one["exercise"]): one for one in finals}
    found = find(book, exercise, names)
    return render(
        f"{_HERE}/report.html",
        styles=STYLES,
        summary=summarize(book, names),
        exercises=[
            (
                name,
                histogram(
                    [one["share"] for one in finals if one["exercise"] == name and one["share"] is not None]
                ),
            )
            for name in exercises
        ],
        columns=exercises,
        named_columns=[(name, "number") for name in exercises],
        students=[_row(number, names, exercises, cells, links or {}) for number in names.people],
        late=[one for one in finals if one["late_s"] or one["marked_late"]],
        changed=[one for one in finals if one["state"] == "override"],
        states=STATES,
        facts=facts(found),
        made=time.strftime("%Y-%m-%d %H:%M"),
        **({"found": None, "pairs": [], "limits": []} if alike is None else _similar(book, names, alike)),
    )


def _row(
    number: int,
    names: Names,
    exercises: Sequence[str],
    cells: Mapping[tuple[int, str], dict[str, Any]],
    links: Mapping[int, str],
) -> StudentRow:
    mine = [cells.get((number, one)) for one in exercises]
    shares = [one["share"] for one in mine if one is not None and one["share"] is not None]
    mean = sum(shares) / len(exercises) if shares else None
    return StudentRow(names.label(number), links.get(number, ""), names[number].section, mine, mean)


def misconceptions_page(found: Findings) -> str:
    """A page of a class's misconceptions."""
    return render(f"{_HERE}/misconceptions.html", styles=STYLES, facts=facts(found))


def similar_page(book: Gradebook, names: Names, found: similar.Similarity) -> str:
    """The pairs of similar files in a table and side by side, as a page."""
    return render(f"{_HERE}/similar.html", styles=STYLES, **_similar(book, names, found))


def _similar(book: Gradebook, names: Names, found: similar.Similarity) -> dict[str, Any]:
    shown = found.matches[:MOST_PAIRS]
    texts = similar.sources(book, names, shown)
    pairs: Pairs = [
        (one, [(side, _marked(texts[side.student, one.exercise], side)) for side in (one.first, one.second)])
        for one in shown
    ]
    return {"found": found, "pairs": pairs, "limits": similar.LIMITS}


def _marked(text: str, side: similar.Side) -> list[Line]:
    lines = text.split("\n")
    indents = {number: len(lines[number - 1]) - len(lines[number - 1].lstrip()) for number in side.lines}
    return listing(text, [Mark(number, indents[number]) for number in side.lines])
