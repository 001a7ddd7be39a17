"""`zoo start DIR`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from grader.catalog import get_exercises
from grader.cli.exercises import report_unsaved
from grader.learner.folder import Folder, short
from grader.learner.notebooks import notebook_name
from grader.learner.record import FILE_NAME
from grader.learner.start import README
from grader.learner.start import start as begin
from zoo.cli.text import bold, columns, counted, wrapped
from zoo.core.errors import ZooError


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--notebooks", is_flag=True, help="Write each exercise as a notebook, too.")
@click.pass_context
def start(ctx: click.Context, directory: Path, notebooks: bool) -> None:
    """Copy the exercises to DIR, a new or existing folder of your own.

    Each exercise is a file that begins with an explanation, followed by the code for you to complete. Existing
    files are never changed, so you can run this again to add missing ones. Your progress is saved in
    DIR/progress.txt. Exit code 1 if an exercise could not be copied.

    \b
    Examples:
      zoo start my-transformer
      zoo start .
      zoo start my-transformer --notebooks
    """
    done = begin(directory, notebooks)
    folder = Folder(short(directory))
    exercises = [one for one in get_exercises().values() if one.file in done.copied]
    if exercises:
        count = f"{len(exercises)} exercise{'s' if len(exercises) > 1 else ''}"
        click.echo(wrapped(f"Copied {count} to {_in_words(folder)}. Do them in this order:"))
        click.echo(f"\n{columns([(one.file, one.title) for one in exercises])}\n")
    written = sum(name.endswith(".ipynb") for name in done.copied)
    if written:
        click.echo(
            wrapped(f"Wrote {counted(written, 'notebook')}: an exercise each, with `%load_ext zoo` in it.")
            + "\n"
        )
    kept = [name for name in done.kept if name not in (README, FILE_NAME)]
    if kept:
        click.echo(wrapped(f"Already there, left unchanged: {', '.join(kept)}.") + "\n")
    if not folder.keeps_progress():
        report_unsaved(folder)
    _next(folder, notebooks)
    for sentence in done.missing:
        click.echo(wrapped(f"Not copied: {sentence}"), err=True)
    ctx.exit(1 if done.missing else 0)


def _in_words(folder: Folder) -> str:
    return "this folder" if folder.path == Path() else f"{folder.path}"


def _next(folder: Folder, notebooks: bool) -> None:
    """Print what to do next."""
    try:
        current = folder.current()
    except ZooError as error:  # all solved, or an unreadable progress file
        click.echo(wrapped(str(error)))
        return
    click.echo(bold("Next"))
    steps = [] if folder.path == Path() else [(f"cd {shlex.quote(str(folder.path))}", "")]
    if notebooks:
        steps.append((f"jupyter lab {notebook_name(current)}", "# or open it in another editor of notebooks"))
        click.echo(columns(steps))
        click.echo("Run its cells from the top; the cell with `%%zoo` grades your code.")
        return
    steps.append(("zoo watch", f"# grades {current.file} each time you save it"))
    click.echo(columns(steps))
    click.echo(f"Then open {current.file} in your editor; it begins with an explanation.")
