"""`zoo class similar`."""

from __future__ import annotations

from collections.abc import Mapping
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
from zoo.cli.text import columns, counted, print_json, wrapped

if TYPE_CHECKING:
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.names import Names
    from grader.classroom.similar import Similarity


@click.command(short_help="Find files that share much of their code.")
@exercise_option
@click.option(
    "--threshold",
    type=click.FloatRange(0.05, 1),
    default=None,
    help="List pairs that share at least this fraction of either file's own code, 0.05 to 1 (default: 0.65).",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print the pairs as CSV.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a page.")
@click.option(
    "--export",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write the files to DIR in the layout that Dolos and JPlag read, without comparing them.",
)
@anonymous_option
@gradebook_option
@json_option
def similar(
    exercise: str | None,
    threshold: float | None,
    as_csv: bool,
    html: Path | None,
    folder: Path | None,
    anonymous: bool,
    path: Path,
    as_json: bool,
) -> None:
    """Find files of different students that share much of their code.

    Compares the newest attempts, exercise by exercise, as text; templates and solutions do not count. A high share is
    a reason to look at two files, not a proof. Needs copydetect: pip install 'transformer-zoo[similar]'.

    \b
    Examples:
      zoo class similar
      zoo class similar --exercise attention --html similar.html
      zoo class similar --export for-dolos
    """
    from grader.classroom import similar as similarity
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.names import Names
    from zoo.core.files import reporting_os_errors

    if (as_csv and as_json) or (folder is not None and (html is not None or as_csv)):
        raise click.UsageError("--json and --csv exclude each other, and so do --export and --html or --csv.")
    with Gradebook(path) as book:
        names = Names(book, anonymous=anonymous)
        if folder is not None:
            with reporting_os_errors(f"'{folder}' cannot be written"):
                counts = similarity.export(book, names, folder, exercise or "")
            _export(counts, folder, as_json)
            return
        found = _compare(book, names, exercise or "", threshold)
        if html is not None:
            from grader.classroom.pages import similar_page
            from zoo.pages.rendering import write

            write(html, similar_page(book, names, found))
    if as_json:
        print_json(found.as_object())
    elif as_csv:
        click.echo(_table(found.as_object()["pairs"]), nl=False)
    else:
        _print(found, html)


def _compare(book: Gradebook, names: Names, exercise: str, threshold: float | None) -> Similarity:
    """Compare, with a progress bar."""
    from tqdm import tqdm

    from grader.classroom import similar as similarity

    bar = tqdm(disable=None, leave=False, unit="pair")

    def progress(done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    least = similarity.THRESHOLD if threshold is None else threshold
    with bar:
        return similarity.compare(book, names, exercise=exercise, threshold=least, progress=progress)


def _table(pairs: list[dict[str, Any]]) -> str:
    """CSV: a row per pair."""
    from grader.classroom.export_cells import safe, write_table

    sides = [
        f"{side}_{what}" for side in ("first", "second") for what in ("student", "name", "path", "share")
    ]
    rows = []
    for one in pairs:
        flat = {f"{side}_{what}": value for side in ("first", "second") for what, value in one[side].items()}
        rows.append([safe(cell) for cell in (one["exercise"], one["same"], *(flat[name] for name in sides))])
    return write_table([["exercise", "same", *sides], *rows])


def _print(found: Similarity, html: Path | None) -> None:
    from grader.classroom.similar import LIMITS

    for exercise, (files, pairs) in found.compared.items():
        click.echo(wrapped(f"{exercise}: compared {counted(files, 'file')}, {counted(pairs, 'pair')}."))
    if found.left_out:
        click.echo(wrapped(f"{counted(len(found.left_out), 'file')} not compared; --json lists them."))
    if found.matches:
        rows = [("exercise", "first", "share", "second", "share", "")]
        for one in found.matches[: 2 * SHOWN]:
            rows.append(
                (
                    one.exercise,
                    clean(one.first.name, 80),
                    f"{one.first.share:.0%}",
                    clean(one.second.name, 80),
                    f"{one.second.share:.0%}",
                    "same text" if one.same else "",
                )
            )
        click.echo(columns(rows, 1))
        if len(found.matches) > 2 * SHOWN:
            click.echo(f"  and {len(found.matches) - 2 * SHOWN} more; --csv lists all.")
    else:
        click.echo(wrapped(f"No two files have {found.threshold:.0%} of one file's own code in common."))
    click.echo(wrapped(LIMITS[0]))
    if html is not None:
        click.echo(wrapped(f"Wrote '{html}'."))


def _export(counts: Mapping[str, int], folder: Path, as_json: bool) -> None:
    from grader.classroom.similar import commands

    if as_json:
        listed = {name: list(commands(folder, name)) for name in counts}
        print_json({"folder": str(folder), "files": dict(counts), "commands": listed})
        return
    if not counts:
        click.echo("There is no file to write.")
        return
    click.echo(wrapped(f"Wrote {counted(sum(counts.values()), 'file')} to '{folder}'."))
    for name in counts:
        enter, dolos, jplag = commands(folder, name)
        click.echo(f"\n{name}:\n  {enter}\n  {dolos}\n  {jplag}")
