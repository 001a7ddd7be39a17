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
    """Put a fresh copy of an exercise in place of your file.

    Your file is kept beside it under another name, so nothing is lost. The exercise counts as new again.
    EXERCISE is a name or a file.

    \b
    Examples:
      zoo reset attention
      zoo reset my-transformer/attention.py
    """
    folder, which = locate(exercise)
    if folder is None:
        raise ZooError(
            f"There are no exercises here, so there is no {which.file} to reset. "
            "`zoo start DIR` copies the exercises to a folder of your own."
        )
    show_reset(folder, which)


def show_reset(folder: Folder, exercise: Exercise) -> None:
    """Reset the exercise and say what was done.

    Raises:
        ZooError: the template is not installed, or a file cannot be read or written.
    """
    file, was_there = folder.file(exercise), folder.has(exercise)
    aside = start.reset(folder, exercise)
    if aside is not None:
        click.echo(wrapped(f"{file} is as shipped again. What you had written is in {aside}."))
    elif was_there:
        click.echo(f"{file} is as shipped already.")
    else:
        click.echo(f"{file} was not there; it is now, as shipped.")
    try:
        start.forget(folder, exercise)
    except ZooError as error:
        click.echo(wrapped(f"Your progress still says what it said before. {error}"), err=True)
