"""`zoo class late`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.classroom.shared import exercise_option, gradebook_option, json_option
from grader.cli.options import OneOf
from zoo.cli.text import print_json, wrapped

if TYPE_CHECKING:
    from grader.classroom.gradebook import Gradebook, Row


def _rules() -> Iterable[str]:
    from grader.classroom.late import get_rules

    return get_rules()


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
      zoo class late --exercise attention --due "2026-03-01 23:59"
      zoo class late --exercise attention --rule percent --per-day 20
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
        due = f"due {row['due']}" if row["due"] else "no deadline"
        click.echo(
            wrapped(
                f"{row['exercise'] or 'exercises without a rule of their own'}: {due}, {row['rule']}"
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
