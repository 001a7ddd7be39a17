"""`zoo reset EXERCISE`."""

from __future__ import annotations

import click

from grader.catalog import Exercise
from grader.cli.exercises import exercise_argument
from grader.learner import start
from grader.learner.folder import Folder, locate
from zoo.cli.text import wrapped
from zoo.core.errors import ZooError


@click.command()
@exercise_argument(required=True)
def reset(exercise: str) -> None:
    """Replace your file with a fresh copy of the exercise.

    Your version is renamed, not deleted, and the exercise is marked as new. EXERCISE is a name or a file.

    \b
    Examples:
      zoo reset attention
      zoo reset my-transformer/attention.py
    """
    folder, which = locate(exercise)
    if folder is None:
        raise ZooError(
            f"There are no exercises here, so there is no {which.file} to reset. "
            "Copy the exercises to a folder of your own with `zoo start DIR`."
        )
    show_reset(folder, which)


def show_reset(folder: Folder, exercise: Exercise) -> None:
    """Reset the exercise and print what was done.

    Raises:
        ZooError: the template is not installed, or a file cannot be read or written.
    """
    file, was_there = folder.file(exercise), folder.has(exercise)
    aside = start.reset(folder, exercise)
    if aside is not None:
        click.echo(wrapped(f"Replaced {file} with a fresh copy. Your version is now {aside}."))
    elif was_there:
        click.echo(f"{file} is already a fresh copy.")
    else:
        click.echo(f"Created {file}.")
    if not folder.keeps_progress():
        return
    try:
        start.forget(folder, exercise)
    except ZooError as error:
        click.echo(wrapped(f"Your progress was not saved. {error}"), err=True)
