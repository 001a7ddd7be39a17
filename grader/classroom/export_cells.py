"""The contents of an export: the chosen exercises and students, and cells that are safe in a spreadsheet.

Text that others wrote never starts a cell with a character that spreadsheets take for a formula, whatever separator
they split the lines at. Cells of a platform's own file that is filled in stay as they are.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.classroom.gradebook import Gradebook
from grader.classroom.names import Names
from grader.classroom.roster import Person
from grader.core.results import clean
from zoo.core.errors import ZooError

Row = Mapping[str, Any]
_SIGN = r"[=+\-@\uff1d\uff0b\uff0d\uff20]"  # the last four are the same ones, wide
_DANGEROUS = re.compile(rf"\s*{_SIGN}|[\t\r\n]")
_INSIDE = re.compile(rf"([;|\t\n]\s*)(?={_SIGN})")  # a cell begins there where the separator is no comma
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
    text = _INSIDE.sub(r"\1'", clean(cell, 30_000))
    return f"'{text}" if _DANGEROUS.match(text) and not _NUMBER.fullmatch(text) else text


def write_table(rows: Iterable[Iterable[object]]) -> str:
    """CSV text, of cells that are safe already."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """CSV text with a header, of cells that are made safe."""
    return write_table([header, *([safe(cell) for cell in row] for row in rows)])


def finals_of(
    book: Gradebook, choice: Choice
) -> tuple[dict[int, Person], list[str], dict[tuple[int, str], Row]]:
    """Students by number, the exercises, and final grades by student and exercise."""
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


def the_exercise(exercises: Sequence[str], form: str) -> str:
    """The only exercise. Raises ZooError if there are several or none."""
    if len(exercises) != 1:
        raise ZooError(
            f"The gradebook has {len(exercises)} exercises, and a file for {form} is for one. Name it with --exercise."
        )
    return exercises[0]


def max_points(rows: Mapping[tuple[int, str], Row], exercise: str) -> float:
    """The most points of an exercise."""
    return max(
        (row["max_points"] or 0.0 for (_s, name), row in rows.items() if name == exercise), default=0.0
    )


def points_cell(row: Row | None) -> object:
    """The points of a final grade; "" without a grade, or if a person has to look at it first."""
    return "" if row is None or row["points"] is None else round(row["points"], 4)
