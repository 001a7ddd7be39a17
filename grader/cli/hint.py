"""`zoo hint [EXERCISE]`."""

from __future__ import annotations

import click

from grader.catalog import Exercise
from grader.cli.exercises import exercise_argument, report_unsaved
from grader.core.results import clean
from grader.learner import hints as ladder
from grader.learner.folder import Folder, locate
from grader.learner.hints import Hint
from grader.learner.record import Entry, update
from zoo.cli.text import bold, wrapped
from zoo.core.errors import ZooError


@click.command()
@exercise_argument(required=False)
@click.option("--all", "everything", is_flag=True, help="Show all hints at once.")
def hint(exercise: str | None, everything: bool) -> None:
    """Show the next hint for an exercise; each call reveals more.

    If the last grade found a mistake, the first hints give its function, then its line, then what is wrong. The
    next ones are about the function or class that failed, from vague to explicit, and then about the rest of the
    exercise. EXERCISE is a name or a file (default: the current exercise).

    \b
    Examples:
      zoo hint
      zoo hint attention
      zoo hint attention --all
    """
    folder, which = locate(exercise)
    show_hint(folder, which, everything)


def show_hint(folder: Folder | None, exercise: Exercise, everything: bool = False) -> None:
    """Print the next hint, or all, and record which were shown.

    Raises:
        ZooError: the hints are not installed, or the record cannot be read.
    """
    entry = folder.record().entry(exercise.name) if folder is not None else Entry()
    if folder is not None and folder.is_damaged():
        report_unsaved(folder)
    found = ladder.all_hints(exercise, entry)
    if not found:
        click.echo(f"There are no hints for {exercise.name}.")
    elif everything:
        for each in found:
            _print(each)
        _note(folder, exercise, found)
    elif (following := ladder.next_hint(found, entry)) is not None:
        _show_one(folder, exercise, entry, found, following)
    else:
        again = f"`zoo hint {exercise.name} --all`"
        click.echo(wrapped(f"You have seen all hints for {exercise.name}; {again} repeats them."))


def _show_one(folder: Folder | None, exercise: Exercise, entry: Entry, hints: list[Hint], one: Hint) -> None:
    """Print `one` of `hints` and what to do next."""
    if entry.state == "solved":
        click.echo(f"{exercise.name} is already solved. Here is a hint anyway:\n")
    _print(one)
    noted = _note(folder, exercise, [one])
    if ladder.next_hint(hints, ladder.shown(entry, one)) is None:
        click.echo("This was the last hint.")
    elif not noted:
        again = f"`zoo hint {exercise.name} --all`"
        damaged = folder is not None and folder.is_damaged()
        you = "You" if damaged else "This folder has no progress file, so you"
        click.echo(wrapped(f"{you} will always get the first hint. {again} shows all."))
    elif entry.state != "solved":
        click.echo("Apply it and grade again. The next `zoo hint` reveals more.")


def _print(one: Hint) -> None:
    number = f" (hint {one.level} of {one.levels})" if one.levels > 1 else ""
    click.echo(f"{bold(clean(one.about))}{number}\n{wrapped(clean(one.text), '  ')}\n")


def _note(folder: Folder | None, exercise: Exercise, hints: list[Hint]) -> bool:
    """Record that these were shown; return whether that was possible."""
    if folder is None or not folder.keeps_progress():
        return False
    try:
        update(folder.path, exercise.name, lambda entry: ladder.shown(entry, *hints))
    except ZooError as error:
        click.echo(wrapped(f"Your progress was not saved. {error}"), err=True)
        return False
    return True
