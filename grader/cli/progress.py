"""`zoo progress`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from grader.cli.exercises import overview, report_unsaved
from grader.learner.folder import need_folder
from zoo.cli.text import wrapped
from zoo.core.errors import ZooError


@click.command()
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
def progress(directory: Path | None) -> None:
    """Show which exercises are solved and which one is next.

    Looks in DIR (default: the current directory, its exercises/, and the same in each parent directory).

    \b
    Examples:
      zoo progress
      zoo progress my-transformer
    """
    folder = need_folder(directory)
    click.echo(overview(folder))
    if folder.is_damaged():
        report_unsaved(folder)
    try:
        current = folder.current()
    except ZooError as error:
        click.echo(f"\n{wrapped(str(error))}")
        return
    file = shlex.quote(str(folder.file(current)))
    click.echo(f"\nNext: zoo grade {file}\nHint: zoo hint {file}")
