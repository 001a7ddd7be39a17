"""`zoo class status`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from grader.cli.classroom.shared import (
    SHOWN,
    anonymous_option,
    format_number,
    gradebook_option,
    json_option,
    show_unplaced,
)
from zoo.cli.text import bold, columns, counted, print_json, wrapped


@click.command()
@anonymous_option
@gradebook_option
@json_option
def status(anonymous: bool, path: Path, as_json: bool) -> None:
    """Show results, and what needs a decision.

    \b
    Example:
      zoo class status
    """
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.grading import describe_selection
    from grader.classroom.names import Names
    from grader.classroom.overview import summarize

    with Gradebook(path) as book:
        found = summarize(book, Names(book, anonymous=anonymous))
    if as_json:
        print_json(found)
        return
    click.echo(
        wrapped(
            f"{counted(found['students'], 'student')} ({found['in_roster']} in the roster), "
            f"{counted(found['submissions'], 'submission')}, {counted(found['gradings'], 'grade')}, "
            f"{found['cpu_hours'] * 60:.1f} CPU minutes."
        )
    )
    if found["waiting"]:
        graded = found["submissions"] - found["waiting"]
        click.echo(
            wrapped(
                f"{graded:,} of {counted(found['submissions'], 'submission')} graded; {found['waiting']:,} "
                f"{'wait' if found['waiting'] > 1 else 'waits'}: run the same `zoo class grade` again."
            )
        )
    if found["exercises"]:
        click.echo(_exercises(found["exercises"]))
    for exercise, selections in found["mixed"].items():
        tests = "; ".join(map(describe_selection, selections))
        click.echo(
            wrapped(
                f"{exercise}: students were graded with different tests ({tests}), so their points cannot be "
                "compared. `zoo class regrade` grades all alike."
            )
        )
    if found["needs_a_person"]:
        click.echo(bold("\nNeeds a decision"))
        listed = found["needs_a_person"]
        click.echo(columns([(one["student"], one["exercise"], one["reason"]) for one in listed[:SHOWN]]))
        if len(listed) > SHOWN:
            click.echo(f"  and {len(listed) - SHOWN} more; --json lists all.")
    show_unplaced([(one["path"], one["reason"]) for one in found["unplaced"]])


def _exercises(found: Sequence[Mapping[str, Any]]) -> str:
    """A table: a row per exercise."""
    from grader.classroom.overview import STATES

    rows = [("exercise", "students", "passed", "median", "of", "late", "states")]
    for one in found:
        states = ", ".join(
            f"{count} {STATES.get(state, state)}"
            for state, count in one["states"].items()
            if state != "graded"
        )
        rows.append(
            (
                one["exercise"],
                str(one["students"]),
                str(one["passed"]),
                format_number(one["median"]),
                format_number(one["max_points"]),
                str(one["late"]),
                states or "all graded",
            )
        )
    return columns(rows)
