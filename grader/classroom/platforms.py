"""Exports for platforms: Canvas, Moodle, nbgrader and Gradescope."""

from __future__ import annotations

import contextlib
import io
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from grader.classroom.export_cells import (
    Choice,
    Row,
    csv_text,
    finals_of,
    max_points,
    points_cell,
    safe,
    the_exercise,
    write_table,
)
from grader.classroom.gradebook import Gradebook
from grader.classroom.names import Names
from grader.classroom.roster import Matcher, Person, read_table
from grader.classroom.stored import read_grade
from grader.core.results import clean
from zoo.core.errors import ZooError


def _last_first(person: Person) -> str:
    first, _, last = person.name.rpartition(" ")
    return f"{last}, {first}" if first else person.name or person.key


# Canvas: https://community.instructure.com/en/kb/articles/661020 (Gradebook import)


def canvas(book: Gradebook, choice: Choice) -> str:
    """A gradebook for Canvas. A template keeps all its columns and rows; only cells of our exercises are filled."""
    students, exercises, finals = finals_of(book, choice)
    if choice.template is not None:
        return _fill_canvas(book, choice, exercises, finals)
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *exercises]
    possible: list[object] = [
        "    Points Possible",
        "",
        "",
        "",
        "",
        *(max_points(finals, one) for one in exercises),
    ]
    rows = [
        [
            safe(_last_first(person)),
            *(safe(person.ids.get(one, "")) for one in ("canvas", "sis", "login")),
            safe(person.section),
            *(points_cell(finals.get((number, one))) for one in exercises),
        ]
        for number, person in students.items()
    ]
    return write_table([header, possible, *rows])


def _fill_canvas(
    book: Gradebook, choice: Choice, exercises: Sequence[str], finals: Mapping[tuple[int, str], Row]
) -> str:
    assert choice.template is not None
    table, header = _template(choice, "Student", "ID")
    columns = {one: place for one in exercises if (place := _column(header, one, choice)) is not None}
    if not columns:
        raise ZooError(
            f"'{choice.template}' has no column called {choice.column or ' or '.join(exercises)}. Its columns: "
            f"{', '.join(clean(cell, 40) for cell in header[5:20])}. Name one with --column."
        )
    match = _finder(book)
    for row in table[1:]:
        row += [""] * (len(header) - len(row))
        cells = dict(zip(header, row, strict=False))
        if "points possible" in row[0].casefold():
            for exercise, place in columns.items():
                row[place] = row[place] or f"{max_points(finals, exercise):g}"
            continue
        name = " ".join(reversed([part.strip() for part in cells["Student"].split(",", 1)]))
        ids = {
            "canvas": cells.get("ID", ""),
            "sis": cells.get("SIS User ID", ""),
            "login": cells.get("SIS Login ID", ""),
        }
        number = match(name, ids, "")
        for exercise, place in columns.items():
            points = points_cell(finals.get((number, exercise))) if number is not None else ""
            row[place] = str(points) if points != "" else row[place]
    return write_table(table)


def _template(choice: Choice, *needed: str) -> tuple[list[list[str]], list[str]]:
    assert choice.template is not None
    if choice.anonymous:
        raise ZooError("--anonymous and --template exclude each other: the template has the names.")
    table, _encoding = read_table(choice.template)
    header = [cell.replace("\ufeff", "").strip() for cell in table[0]] if table else []
    missing = [one for one in needed if one not in header]
    if missing:
        raise ZooError(f"'{choice.template}' has no column {' and '.join(map(repr, missing))}.")
    return table, header


def _column(header: Sequence[str], exercise: str, choice: Choice) -> int | None:
    """The column of an exercise: its name, with Canvas's number behind or not."""
    wanted = (choice.column or exercise).casefold()
    for place, cell in enumerate(header):
        if re.sub(r"\s*\(\d+\)$", "", cell).casefold() == wanted or cell.casefold() == wanted:
            return place
    return None


def _finder(book: Gradebook) -> Callable[[str, dict[str, str], str], int | None]:
    """From a platform's name, ids and email to the number of a student; None where it is nobody we know."""
    students = Names(book).people
    numbers = {person.key: number for number, person in students.items()}

    # the file names whom a roster would name, so students are found by another spelling, too
    matcher = Matcher(replace(one, in_roster=True) for one in students.values())

    def find(name: str, ids: dict[str, str], email: str) -> int | None:
        given = {what: one for what, one in ids.items() if one}
        person, _note = matcher.match(name, given, email)
        return numbers.get(person.key)

    return find


# Moodle: offline grading worksheet; Identifier, Grade and "Last modified (grade)" are what its import needs.

MOODLE = (
    "Identifier",
    "Full name",
    "Email address",
    "Status",
    "Grade",
    "Maximum grade",
    "Grade can be changed",
    "Last modified (submission)",
    "Last modified (grade)",
    "Feedback comments",
)


def moodle(book: Gradebook, choice: Choice) -> str:
    """A grading worksheet of Moodle, for one exercise. A template keeps all its columns and rows."""
    students, exercises, finals = finals_of(book, choice)
    exercise = the_exercise(exercises, "Moodle")
    if choice.template is not None:
        return _fill_moodle(book, choice, exercise, finals)
    if students and not choice.anonymous and not any("moodle" in one.ids for one in students.values()):
        raise ZooError(
            f"None of the {len(students)} students has a participant number of Moodle, by which Moodle finds them. "
            "Fill in a grading worksheet of Moodle's with --template."
        )
    most = max_points(finals, exercise)
    rows: list[list[object]] = []
    for number, person in students.items():
        row = finals.get((number, exercise))
        if "moodle" not in person.ids and not choice.anonymous:
            continue  # Moodle finds students by this number alone
        rows.append(
            [
                f"Participant {person.ids.get('moodle', '')}".strip(),
                person.name,
                person.email,
                "Submitted for grading" if row is not None and row["submission"] else "No submission",
                points_cell(row),
                most,
                "Yes",
                "-",
                "-",
                _feedback(book, row),
            ]
        )
    return csv_text(MOODLE, rows)


def _fill_moodle(
    book: Gradebook, choice: Choice, exercise: str, finals: Mapping[tuple[int, str], Row]
) -> str:
    table, header = _template(choice, "Identifier", "Grade")
    match = _finder(book)
    for row in table[1:]:
        row += [""] * (len(header) - len(row))
        cells = dict(zip(header, row, strict=False))
        number = match(
            cells.get("Full name", ""),
            {"moodle": re.sub(r"^\D+", "", cells["Identifier"])},
            cells.get("Email address", ""),
        )
        final = finals.get((number, exercise)) if number is not None else None
        if (points := points_cell(final)) != "":
            row[header.index("Grade")] = str(points)
            if "Feedback comments" in header:
                row[header.index("Feedback comments")] = str(safe(_feedback(book, final)))
    return write_table(table)


def _feedback(book: Gradebook, final: Row | None) -> str:
    """The mistakes of a grade and why points were taken, in sentences."""
    if final is None:
        return ""
    texts = [row["text"] for row in book.all(
        "SELECT text FROM diagnoses WHERE grading = ? ORDER BY place", (final["grading"],)
    )]  # fmt: skip
    return " ".join([*dict.fromkeys(texts), *([final["note"]] if final["note"] else [])])


# nbgrader has these columns in `nbgrader export`.

NBGRADER = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
)


def nbgrader(book: Gradebook, choice: Choice) -> str:
    """The columns of `nbgrader export`. Who handed nothing in has 0 points, as there."""
    students, exercises, finals = finals_of(book, choice)
    due = {row["exercise"]: row["due"] for row in book.all("SELECT * FROM late_rules")}
    known = book.all("SELECT id, submitted_at FROM submissions WHERE time_source != 'file'")
    times = {row["id"]: row["submitted_at"] for row in known}
    rows = []
    for exercise in exercises:
        for number, person in students.items():
            row = finals.get((number, exercise))
            first, _, last = person.name.rpartition(" ")
            given = row is not None and row["submission"] is not None
            rows.append(
                (
                    exercise,
                    _when(due.get(exercise, due.get(""))),
                    _when(times.get(row["submission"])) if row is not None else "",
                    person.key,
                    last,
                    first,
                    person.email,
                    (row["raw"] if row is not None and given else 0.0),
                    (row["penalty"] if row is not None else 0.0),
                    (points_cell(row) if row is not None else 0.0),
                    max_points(finals, exercise),
                )
            )
    return csv_text(NBGRADER, rows)


def _when(seconds: float | None) -> str:
    return "" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def gradescope(book: Gradebook, choice: Choice) -> dict[str, str]:
    """Gradescope's results.json for each student who handed something in, by file name."""
    from grader.reports.gradescope import GradescopeReport

    names, (students, exercises, finals) = Names(book, anonymous=choice.anonymous), finals_of(book, choice)
    exercise, file_names = the_exercise(exercises, "Gradescope"), names.files()
    reports = {row["id"]: row["report"] for row in book.all("SELECT id, report FROM gradings")}
    files = {}
    for number in students:
        row = finals.get((number, exercise))
        if row is None or row["submission"] is None:
            continue
        packed = reports.get(row["grading"])
        output: dict[str, Any]
        if packed is None:
            output = {
                "score": 0.0,
                "output": f"Not graded: {names.hide(row['note']) or row['state']}",
                "tests": [],
            }
            if row["points"] is None:
                del output["score"]
        else:
            grade = read_grade(packed, names.hide)
            with contextlib.redirect_stdout(io.StringIO()) as text:
                GradescopeReport().close([grade])
            output = json.loads(text.getvalue())
        if row["points"] is not None:
            output["score"] = row["points"]
        if row["note"]:
            output["output"] = f"{output['output']} {clean(names.hide(row['note']))}"
        files[f"{file_names[number]}.json"] = json.dumps(output, indent=2)
    return files
