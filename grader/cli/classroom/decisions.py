"""`zoo class override` and `zoo class late`."""

from __future__ import annotations

import getpass
import json
import math
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.classroom.shared import exercise_option, gradebook_option, json_option
from grader.cli.options import OneOf, exercise_names
from zoo.cli.text import print_json, wrapped
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from grader.classroom.gradebook import Gradebook, Row


def _rules() -> Iterable[str]:
    from grader.classroom.late import get_rules

    return get_rules()


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
      zoo class override anna attention 18 --reason "the mask was right; see mail of 3 March"
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


@click.command()
@exercise_option
@click.option(
    "--due", metavar="WHEN", help="Deadline, such as '2026-03-01 23:59' (local time) or with a zone."
)
@click.option(
    "--rule", type=OneOf("late rule", _rules), metavar="NAME", help="none, percent, grace, or a plugin's."
)
@click.option(
    "--per-day",
    type=click.FloatRange(0, 100),
    help="Percent deducted per day or part of a day (default: 10).",
)
@click.option("--days", type=click.IntRange(min=0), help="Grace days per student, for the rule grace.")
@click.option("--max-days", type=click.IntRange(min=0), help="No points after this many days.")
@click.option(
    "--attempts",
    type=click.Choice(["last", "best"]),
    help="Attempt that counts, for all exercises (default: last).",
)
@gradebook_option
@json_option
def late(
    exercise: str | None,
    due: str | None,
    rule: str | None,
    attempts: str | None,
    path: Path,
    as_json: bool,
    **options: float | None,
) -> None:
    """Set or list deadlines and late penalties.

    Without --exercise, the rule applies to all exercises without a rule of their own. Submission times come from
    Gradescope, Git commits and nbgrader; Canvas marks late files in their names. The modification time of a file is
    ignored, since it is often that of the download. With --attempts=last, the last attempt before the deadline
    counts.

    \b
    Examples:
      zoo class late --exercise attention --due "2026-03-01 23:59" --rule percent --per-day 20
      zoo class late --rule grace --days 3
      zoo class late --attempts best
    """
    from grader.classroom import finals
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.late import get_rule, read_deadline

    changed = {name: value for name, value in options.items() if value is not None}
    changes = bool(due or rule or changed)
    if changes or attempts:
        when = read_deadline(due) if due else None
        with Gradebook(path, write=True) as book:
            with book.transaction():
                if changes:
                    _set_rule(book, exercise or "", when, rule, changed)
                if attempts:
                    book.set("attempts", attempts)
            finals.compute(book)
    with Gradebook(path) as book:
        rows = book.all("SELECT * FROM late_rules ORDER BY exercise")
        policy = book.setting("attempts", "last")
    if as_json:
        print_json({"attempts": policy, "rules": [_rule(row) for row in rows]})
        return
    click.echo(f"Attempt that counts: {policy}{' before the deadline' * (policy == 'last')}.")
    for row in map(_rule, rows):
        listed = ", ".join(f"{name} {value:g}" for name, value in row["options"].items())
        click.echo(
            wrapped(
                f"{row['exercise'] or 'every other exercise'}: due {row['due'] or 'never'}, {row['rule']}"
                f"{f' ({listed})' if listed else ''}: {get_rule(row['rule']).summary}."
            )
        )


def _set_rule(
    book: Gradebook, exercise: str, due: float | None, rule: str | None, options: dict[str, Any]
) -> None:
    """Update the rule of an exercise; values that are not given stay."""
    row = book.one("SELECT * FROM late_rules WHERE exercise = ?", (exercise,))
    before = {} if row is None or rule not in (None, row["rule"]) else json.loads(row["options"])
    book.execute(
        "INSERT OR REPLACE INTO late_rules VALUES (?, ?, ?, ?)",
        (
            exercise,
            due if due is not None or row is None else row["due"],
            rule or ("none" if row is None else row["rule"]),
            json.dumps({**before, **options}, sort_keys=True),
        ),
    )


def _rule(row: Row) -> dict[str, Any]:
    due = None if row["due"] is None else time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(row["due"]))
    return {
        "exercise": row["exercise"],
        "due": due,
        "rule": row["rule"],
        "options": json.loads(row["options"]),
    }
