"""`zoo class status`, `show` and `misconceptions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from grader.cli.classroom.shared import (
    SHOWN,
    anonymous_option,
    exercise_option,
    format_number,
    gradebook_option,
    json_option,
    show_unplaced,
)
from grader.core.results import clean
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
    from grader.classroom.names import Names
    from grader.classroom.overview import STATES, summarize

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
    if found["exercises"]:
        rows = [("exercise", "students", "passed", "median", "of", "late", "states")]
        for one in found["exercises"]:
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
        click.echo(columns(rows))
    if found["needs_a_person"]:
        click.echo(bold("\nNeeds a decision"))
        listed = found["needs_a_person"]
        click.echo(columns([(one["student"], one["exercise"], one["reason"]) for one in listed[:SHOWN]]))
        if len(listed) > SHOWN:
            click.echo(f"  and {len(listed) - SHOWN} more; --json lists all.")
    show_unplaced([(one["path"], one["reason"]) for one in found["unplaced"]])


@click.command()
@click.argument("student")
@anonymous_option
@gradebook_option
@json_option
def show(student: str, anonymous: bool, path: Path, as_json: bool) -> None:
    """Show attempts and points of one STUDENT.

    STUDENT is a key, an email, an id, or part of a name.

    \b
    Example:
      zoo class show anna
    """
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.names import Names
    from grader.classroom.overview import STATES, describe_student

    with Gradebook(path) as book:
        number = book.find_student(student)["id"]
        found = describe_student(book, number, Names(book, anonymous=anonymous))
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
            for mistake in attempt["mistakes"]:
                place = f"line {mistake['line']}: " if mistake["line"] else ""
                click.echo(wrapped(f"{mistake['id']}: {place}{mistake['text']}", "    "))


@click.command()
@exercise_option
@click.option(
    "--what",
    type=click.Choice(["misconceptions", "exercises", "tests", "moves", "pairs", "attempts"]),
    help="Print only this table.",
)
@click.option(
    "--csv", "as_csv", is_flag=True, help="Print the table of --what as CSV (default: misconceptions)."
)
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a page.")
@anonymous_option
@gradebook_option
@json_option
def misconceptions(
    exercise: str | None,
    what: str | None,
    as_csv: bool,
    html: Path | None,
    anonymous: bool,
    path: Path,
    as_json: bool,
) -> None:
    """Show common mistakes and hard exercises.

    \b
    Examples:
      zoo class misconceptions
      zoo class misconceptions --exercise attention --what moves
      zoo class misconceptions --csv > mistakes.csv
      zoo class misconceptions --html mistakes.html
    """
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.misconceptions import find
    from grader.classroom.names import Names

    with Gradebook(path) as book:
        found = find(book, exercise or "", Names(book, anonymous=anonymous))
    if html is not None:
        from grader.classroom.pages import misconceptions_page
        from zoo.pages.rendering import write

        write(html, misconceptions_page(found))
        if not as_json and not as_csv:
            click.echo(wrapped(f"Wrote '{html}'."))
            return
    data = found.as_object()
    if as_json:
        print_json(data if what is None else data[what])
        return
    if as_csv:
        click.echo(_csv(data[what or "misconceptions"]), nl=False)
        return
    for sentence in found.summary if what is None else ():
        click.echo(wrapped(sentence))
    for table in _TABLES:
        if what in (None, table[0]):
            _print_table(table, data[table[0]], few=what is None)
    if not data["exercises"]:
        click.echo("No grades yet.")


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table as CSV, without the places of mistakes."""
    from grader.classroom.exports import safe, write_table

    header = [name for name in rows[0] if name != "places"] if rows else []
    cells = (
        [safe("; ".join(row[name]) if isinstance(row[name], list) else row[name]) for name in header]
        for row in rows
    )
    return write_table([header, *cells])


def _print_table(
    table: tuple[str, str, tuple[str, ...], int], rows: Sequence[Mapping[str, Any]], few: bool
) -> None:
    """Print a table under its title, unless it is empty; `few` rows of it, those worth showing."""
    name, title, fields, flexible = table
    shown = _worth_showing(name, rows)[:SHOWN] if few and rows else rows
    if not shown:
        return
    click.echo(f"\n{bold(title)}")
    cells = ([_format_cell(row[one], one) for one in fields] for row in shown)
    click.echo(columns([[one.replace("_", " ") for one in fields], *cells], flexible))
    if name == "misconceptions":
        for row in shown[: 5 if few else SHOWN]:
            seen = f" See {', '.join(row['lines'][:2])}." if row["lines"] else ""
            click.echo(wrapped(clean(f"{row['mistake']}: {row['text']}{seen}"), "    "))


_TABLES = (
    ("misconceptions", "Mistakes", ("exercise", "mistake", "students", "share", "now", "fixed", "points"), 1),
    ("exercises", "Exercises", ("exercise", "students", "passed", "unwritten", "unloadable", "unnamed", "mean"), 0),
    ("tests", "Uninformative tests", ("exercise", "title", "passed", "failed", "skipped", "verdict"), 1),
    ("moves", "From one attempt to the next", ("exercise", "before", "after", "students"), 1),
    ("pairs", "Mistakes made together", ("first", "second", "students", "expected"), 1),
    ("attempts", "Attempts", ("exercise", "attempt", "students", "passed", "mean"), 0),
)  # fmt: skip


def _worth_showing(name: str, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of interest: conspicuous tests, and attempts only if somebody has several."""
    if name == "tests":
        return [row for row in rows if row["verdict"] in ("never passes", "passes weaker files")]
    if name == "attempts" and max(row["attempt"] for row in rows) == 1:
        return []
    return list(rows)


def _format_cell(value: object, column: str) -> str:
    if isinstance(value, float) and column in ("share", "mean"):
        return f"{value:.0%}"
    if column == "before" and not value:
        return "failure without a name"
    return f"{value:g}" if isinstance(value, float) else str(value)
