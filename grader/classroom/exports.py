"""Exports: grades in the forms that platforms read, and everything in long tables.

Text that others wrote never starts a cell with a character that spreadsheets take for a formula. Cells of a
platform's own file that is filled in stay as they are.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.classroom.finals import LATEST_GRADINGS
from grader.classroom.gradebook import Gradebook
from grader.classroom.names import Names
from grader.classroom.roster import Matcher, Person, read_table
from grader.classroom.stored import read_grade
from grader.core.results import clean
from zoo.core.errors import ZooError

Table = list[list[object]]
Row = Mapping[str, Any]
_DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


@dataclass(frozen=True)
class Choice:
    """The selection to export.

    Attributes:
        exercise: one exercise; "": all.
        template: a platform's own file, to be filled in; None: a new one is made.
        column: the column of it that is filled in; "": the one that is called like the exercise.
        anonymous: other names for all students.
    """

    exercise: str = ""
    template: Path | None = None
    column: str = ""
    anonymous: bool = False


def safe(cell: object) -> object:
    """A cell that no spreadsheet takes for a formula."""
    if not isinstance(cell, str):
        return "" if cell is None else cell
    text = clean(cell, 30_000)
    return f"'{text}" if text.startswith(_DANGEROUS) and not _NUMBER.fullmatch(text) else text


def write_table(rows: Iterable[Iterable[object]]) -> str:
    """CSV text, of cells that are safe already."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def _csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return write_table([header, *([safe(cell) for cell in row] for row in rows)])


@dataclass(frozen=True)
class _Final:
    """A student's final grade for an exercise."""

    student: Person
    exercise: str
    row: Row | None

    @property
    def points(self) -> float | None:
        """None: nothing handed in, or a person has to look."""
        return None if self.row is None else self.row["points"]


def _finals(
    book: Gradebook, choice: Choice
) -> tuple[dict[int, Person], list[str], dict[tuple[int, str], Row]]:
    students = Names(book, anonymous=choice.anonymous).people
    rows: dict[tuple[int, str], Row] = {
        (row["student"], row["exercise"]): dict(row) for row in book.all("SELECT * FROM finals")
    }
    if choice.anonymous:  # a person's reason may have names in it
        rows = {
            pair: {**row, "note": row["note"] * (row["state"] != "override")} for pair, row in rows.items()
        }
    exercises = sorted({exercise for _student, exercise in rows})
    if choice.exercise:
        exercises = [choice.exercise]
    return students, exercises, rows


def _one_exercise(exercises: Sequence[str], form: str) -> str:
    if len(exercises) != 1:
        raise ZooError(
            f"The gradebook has {len(exercises)} exercises, and a file for {form} is for one. Name it with --exercise."
        )
    return exercises[0]


def _maximum(rows: Mapping[tuple[int, str], Row], exercise: str) -> float:
    return max(
        (row["max_points"] or 0.0 for (_s, name), row in rows.items() if name == exercise), default=0.0
    )


def _last_first(person: Person) -> str:
    first, _, last = person.name.rpartition(" ")
    return f"{last}, {first}" if first else person.name or person.key


# Canvas: https://community.instructure.com/en/kb/articles/661020 (Gradebook import)


def canvas(book: Gradebook, choice: Choice) -> str:
    """A gradebook for Canvas. A template keeps all its columns and rows; only cells of our exercises are filled."""
    students, exercises, finals = _finals(book, choice)
    if choice.template is not None:
        return _fill_canvas(book, choice, exercises, finals)
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *exercises]
    possible: list[object] = [
        "    Points Possible",
        "",
        "",
        "",
        "",
        *(_maximum(finals, one) for one in exercises),
    ]
    rows = [
        [
            safe(_last_first(person)),
            *(safe(person.ids.get(one, "")) for one in ("canvas", "sis", "login")),
            safe(person.section),
            *(_points(finals.get((number, one))) for one in exercises),
        ]
        for number, person in students.items()
    ]
    return write_table([header, possible, *rows])


def _points(row: Row | None) -> object:
    return "" if row is None or row["points"] is None else round(row["points"], 4)


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
                row[place] = row[place] or f"{_maximum(finals, exercise):g}"
            continue
        name = " ".join(reversed([part.strip() for part in cells["Student"].split(",", 1)]))
        ids = {
            "canvas": cells.get("ID", ""),
            "sis": cells.get("SIS User ID", ""),
            "login": cells.get("SIS Login ID", ""),
        }
        number = match(name, ids, "")
        for exercise, place in columns.items():
            points = _points(finals.get((number, exercise))) if number is not None else ""
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

    matcher = Matcher(students.values())

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
    students, exercises, finals = _finals(book, choice)
    exercise = _one_exercise(exercises, "Moodle")
    if choice.template is not None:
        return _fill_moodle(book, choice, exercise, finals)
    if students and not choice.anonymous and not any("moodle" in one.ids for one in students.values()):
        raise ZooError(
            f"None of the {len(students)} students has a participant number of Moodle, by which Moodle finds them. "
            "Fill in a grading worksheet of Moodle's with --template."
        )
    maximum = _maximum(finals, exercise)
    rows: Table = []
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
                _points(row),
                maximum,
                "Yes",
                "-",
                "-",
                _feedback(book, row),
            ]
        )
    return _csv(MOODLE, rows)


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
        if (points := _points(final)) != "":
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
    students, exercises, finals = _finals(book, choice)
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
                    (_points(row) if row is not None else 0.0),
                    _maximum(finals, exercise),
                )
            )
    return _csv(NBGRADER, rows)


def _when(seconds: float | None) -> str:
    return "" if seconds is None else time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


# Long tables.


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
    return _csv(("student", "name", "exercise", "attempt", "path", *columns), rows)


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
    students, exercises, finals = _finals(book, choice)
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
    return _csv(("student", "name", "email", "section", "exercise", *columns), rows)


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


def gradescope(book: Gradebook, choice: Choice) -> dict[str, str]:
    """Gradescope's results.json for each student who handed something in, by file name."""
    from grader.reports.gradescope import GradescopeReport

    names, (students, exercises, finals) = Names(book, anonymous=choice.anonymous), _finals(book, choice)
    exercise, file_names = _one_exercise(exercises, "Gradescope"), names.files()
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
