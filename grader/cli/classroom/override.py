"""`zoo class override`."""

from __future__ import annotations

import getpass
import math
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli.classroom.shared import gradebook_option, json_option
from grader.cli.options import OneOf, exercise_names
from zoo.cli.text import print_json, wrapped
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from grader.classroom.gradebook import Gradebook, Row


def _finite(_ctx: click.Context, _param: click.Parameter, given: float | None) -> float | None:
    """The points. Raises click.BadParameter: they are infinite or not a number, which click's range lets through."""
    if given is not None and not math.isfinite(given):
        raise click.BadParameter(f"{given} is not a number of points.")
    return given


@click.command(short_help="Set points by hand.")
@click.argument("student")
@click.argument("exercise", type=OneOf("exercise", exercise_names))
@click.argument("points", type=click.FloatRange(min=0), callback=_finite, required=False)
@click.option("--reason", required=True, help="Reason for the change; it is recorded.")
@click.option("--who", help="Name to record (default: your user name).")
@click.option("--remove", is_flag=True, help="Remove an earlier override.")
@gradebook_option
@json_option
def override(
    student: str,
    exercise: str,
    points: float | None,
    reason: str,
    who: str | None,
    remove: bool,
    path: Path,
    as_json: bool,
) -> None:
    """Set the POINTS of a STUDENT for an EXERCISE by hand.

    Each change is recorded with its reason.

    \b
    Examples:
      zoo class override anna attention 18 --reason "the mask was right"
      zoo class override anna attention --remove --reason "regraded"
    """
    from grader.classroom import finals
    from grader.classroom.gradebook import Gradebook

    if remove == (points is not None):
        raise click.UsageError("Give either POINTS or --remove.")
    if not reason.strip():
        raise click.UsageError("--reason must not be empty.")
    with Gradebook(path, write=True) as book:
        row = book.find_student(student)
        _check(book, row, exercise, points)
        with book.transaction():
            book.execute(
                "INSERT INTO overrides (student, exercise, points, reason, who, at) VALUES (?, ?, ?, ?, ?, ?)",
                (row["id"], exercise, points, reason.strip(), who or _user(), time.time()),
            )
        finals.compute(book)
    if as_json:
        print_json({"student": row["key"], "exercise": exercise, "points": points, "removed": remove})
        return
    done = "removed" if remove else f"{points:g} points"
    click.echo(wrapped(f"{row['name'] or row['key']}, {exercise}: {done}."))


def _check(book: Gradebook, student: Row, exercise: str, points: float | None) -> None:
    """Check an override. Raises ZooError: more points than there are, or none to remove (`points` is None)."""
    from grader.classroom import finals

    most = finals.totals(book).get(exercise)
    if points is not None and most is not None and points > most:
        raise ZooError(f"{points:g} points are more than {exercise} is worth; expected at most {most:g}.")
    last = book.one(
        "SELECT points FROM overrides WHERE student = ? AND exercise = ? ORDER BY id DESC LIMIT 1",
        (student["id"], exercise),
    )
    if points is None and (last is None or last["points"] is None):
        name = student["name"] or student["key"]
        raise ZooError(f"There is no override of {name}'s points for {exercise} to remove.")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"
