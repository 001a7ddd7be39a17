"""`zoo class show`."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.classroom.shared import (
    anonymous_option,
    format_number,
    gradebook_option,
    json_option,
)
from grader.core.results import clean
from zoo.cli.text import bold, print_json, wrapped


@click.command()
@click.argument("student")
@anonymous_option
@gradebook_option
@json_option
def show(student: str, anonymous: bool, path: Path, as_json: bool) -> None:
    """Show attempts and points of one STUDENT.

    STUDENT is a key, an email, an id, or part of a name. With --anonymous, the names that replace the students' own
    are also accepted.

    \b
    Example:
      zoo class show anna
    """
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.names import Names
    from grader.classroom.overview import STATES, describe_student

    with Gradebook(path) as book:
        names = Names(book, anonymous=anonymous)
        found = describe_student(book, names.find(student), names)
    if as_json:
        print_json(found)
        return
    click.echo(bold(clean(f"{found['name'] or found['key']}  {found['email']}").rstrip()))
    for one in found["exercises"]:
        total = f"{format_number(one['points'])} of {format_number(one['max_points'])} points"
        note = f" ({one['note']})" if one["note"] else ""
        click.echo(f"\n{bold(one['exercise'])}: {total}, {STATES.get(one['state'], one['state'])}")
        if note:
            click.echo(wrapped(clean(note.strip()), "  "))
        for attempt in one["attempts"]:
            counts = " (counts)" if attempt["counts"] else ""
            click.echo(
                f"  attempt {attempt['attempt']}: {format_number(attempt['points'])} points, "
                f"{STATES.get(attempt['state'], attempt['state'])}, {clean(attempt['path'], 200)}{counts}"
            )
            if attempt["reason"]:
                click.echo(wrapped(clean(attempt["reason"], 300), "    "))
            for mistake in attempt["mistakes"]:
                place = f"line {mistake['line']}: " if mistake["line"] else ""
                click.echo(wrapped(f"{mistake['id']}: {place}{mistake['text']}", "    "))
