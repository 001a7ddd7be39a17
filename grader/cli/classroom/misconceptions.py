"""`zoo class misconceptions`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.classroom.shared import (
    SHOWN,
    anonymous_option,
    exercise_option,
    gradebook_option,
    json_option,
)
from grader.core.results import clean
from zoo.cli.text import bold, columns, counted, print_json, wrapped

if TYPE_CHECKING:
    from grader.classroom.examples import Example
    from grader.classroom.misconceptions import Findings, Misconception

EXPLAINED = 5  # mistakes that are explained where nobody asked for their table alone
CODE = 60  # characters of one way
WAYS = 2  # ways of writing a mistake that are shown


@click.command()
@exercise_option
@click.option(
    "--what",
    type=click.Choice(["misconceptions", "exercises", "tests", "moves", "pairs", "attempts", "unnamed"]),
    help="Print only this table, with all its rows.",
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

    A student counts once for a mistake, whatever the number of attempts. "Still" counts those whose last attempt has
    it, and the points lost are theirs.

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
    elif as_csv:
        click.echo(_csv(what or "misconceptions", data), nl=False)
    elif found.exercises:
        _print(found, data, what)
    else:
        click.echo("No grades yet.")


def _csv(table: str, data: dict[str, Any]) -> str:
    from grader.classroom.export_cells import safe, write_table
    from grader.classroom.misconceptions import fields_of

    header = [name for name in fields_of(table) if name not in ("places", "example")]
    cells = (
        [safe("; ".join(row[name]) if isinstance(row[name], list) else row[name]) for name in header]
        for row in data[table]
    )
    return write_table([header, *cells])


def _print(found: Findings, data: dict[str, Any], what: str | None) -> None:
    for sentence in found.summary if what is None else ():
        click.echo(wrapped(sentence))
    for name, title, wanted, flexible in _TABLES:
        rows, fields = data[name], wanted.split()
        if what not in (None, name):
            continue
        shown = rows if what == name else _worth_showing(name, rows)[:SHOWN]
        if not shown:
            if what == name:
                click.echo("There is none.")
            continue
        click.echo(f"\n{bold(title if what is None else title.removeprefix('Conspicuous ').capitalize())}")
        cells = [[_format_cell(row[one], one) for one in fields] for row in shown]
        click.echo(columns([[_LABELS.get(one, one.replace("_", " ")) for one in fields], *cells], flexible))
        if name == "misconceptions":
            for one in found.misconceptions[: len(shown) if what else EXPLAINED]:
                _explain(one)
    if what is None:
        click.echo(
            wrapped(
                "\n--what NAME prints one table with all its rows; --html FILE writes a page with the code."
            )
        )


def _explain(one: Misconception) -> None:
    """Print what a mistake is, and the ways in which most students write it."""
    click.echo(wrapped(clean(f"{one.mistake}: {one.text}"), "    "))
    for place in [place for place in one.places if place.line][:WAYS]:
        code = clean(_marked(place), CODE).replace("`", "'")
        where = f" in {place.region}" if place.region else ""
        who = clean(f"{place.student}, line {place.line}", 100)
        click.echo(wrapped(f"`{code}`{where}: {counted(place.students, 'student')}, such as {who}", "      "))


def _marked(place: Example) -> str:
    """The code at fault, without comments: the marked part of the line, or the line."""
    from grader.classroom.examples import without_comment

    line = without_comment("".join(place.lines[place.line - place.before :][:1]))
    if place.column is None or place.end_column is None or place.end_line != place.line:
        return line.strip()
    return line[place.column - 1 : place.end_column - 1].strip() or line.strip()


_TABLES = (
    ("misconceptions", "Mistakes", "exercise mistake students share now fixed points", 1),
    ("unnamed", "Failures without a known mistake", "exercise title students message", 3),
    ("exercises", "Exercises", "exercise students passed passed_first unwritten unloadable unnamed mean", 0),
    ("tests", "Conspicuous tests", "exercise title passed failed skipped verdict", 1),
    ("moves", "From one attempt to the next", "exercise before after students", 1),
    ("pairs", "Mistakes made together", "first second students expected", 1),
    ("attempts", "Attempts", "exercise attempt students passed mean", 0),
)
"""Field of `Findings`, title, columns, and which of these may wrap."""

_LABELS = {
    "now": "still",
    "points": "points lost",
    "title": "test",
    "passed_first": "at first",
    "unloadable": "not loaded",
    "mean": "points",
    "before": "had",
    "after": "and next",
    "expected": "by chance",
}


def _worth_showing(name: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of interest: conspicuous tests, shared failures, attempts only if somebody has several."""
    if name == "tests":
        return [row for row in rows if row["verdict"] in ("never passes", "passes weaker files")]
    if name == "unnamed":
        return [row for row in rows if row["students"] > 1]
    if name == "attempts" and max(row["attempt"] for row in rows) == 1:
        return []
    return list(rows)


def _format_cell(value: object, column: str) -> str:
    if isinstance(value, float) and column in ("share", "mean"):
        return f"{value:.0%}"
    if column == "before" and not value:
        return "failure without a name"
    if column == "message":
        return clean(str(value).partition("\n")[0], 120)
    return f"{value:g}" if isinstance(value, float) else str(value)
