"""Shared by the learner's commands: the argument EXERCISE, the list of exercises, recording a grade."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from grader.core.results import clean
from grader.learner.folder import Folder
from grader.learner.record import FILE_NAME
from zoo.cli.text import bold, columns, wrapped
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from grader.catalog import Exercise
    from grader.core.results import Grade

F = TypeVar("F", bound=Callable[..., Any])

MOST_MISTAKES = 2  # listed per exercise


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from grader.catalog import get_exercises

    found = [
        CompletionItem(one.name, help=one.title)
        for one in get_exercises().values()
        if one.name.startswith(incomplete)
    ]
    return [CompletionItem(incomplete, type="file"), *found]


def exercise_argument(required: bool) -> Callable[[F], F]:
    """Add the argument EXERCISE: a name, or a file."""
    metavar = "EXERCISE" if required else "[EXERCISE]"
    return click.argument("exercise", metavar=metavar, required=required, shell_complete=_complete)


def overview(folder: Folder) -> str:
    """Format the progress in all exercises of a folder. Raises ZooError if it cannot be read."""
    from grader.catalog import get_exercises

    record, exercises = folder.record(), list(get_exercises().values())
    unsolved = folder.unsolved()
    rows = []
    for one in exercises:
        entry = record.entry(one.name)
        state = entry.state if folder.has(one) else f"{entry.state}, no file"
        named = ", ".join(entry.mistakes[:MOST_MISTAKES])
        more = len(entry.mistakes) - MOST_MISTAKES
        named += f" and {more} more" if more > 0 else ""
        mark = ">" if unsolved[:1] == [one] else " "
        rows.append((mark, one.file, state, clean(entry.points), clean(named)))
    solved = sum(record.entry(one.name).state == "solved" for one in exercises)
    where = "this folder" if folder.path == Path() else str(folder.path)
    head = wrapped(f"{solved} of {len(exercises)} exercises in {where} solved.")
    header = ("", "exercise", "state", "points", "mistakes in the last grade")
    table = f"{bold(head)}\n\n{columns([header, *rows])}"
    if not any(
        record.entry(one.name).state == "tried" and not record.entry(one.name).points for one in exercises
    ):
        return table
    note = "Tried without points: graded with --quick, --only or --skip. Only a grade with all tests counts."
    return f"{table}\n\n{wrapped(note)}"


def report_unsaved(folder: Folder) -> None:
    """Report on standard error that what is in place of a folder's progress file is none, or is damaged."""
    text = (
        f"{folder.path / FILE_NAME} is not a progress file of zoo, or is damaged: nothing is saved in it until you "
        f"fix it, or remove it and run `zoo start {shlex.quote(str(folder.path))}`."
    )
    click.echo(wrapped(clean(text)), err=True)


def remember(file: Path, exercise: Exercise, grade: Grade) -> None:
    """Record a grade if the file's folder has a progress file; if that fails, say why on standard error."""
    from grader.learner.grading import home_of, keep

    try:
        folder = home_of(file, exercise)
        if folder is not None and folder.is_damaged():
            report_unsaved(folder)
        elif folder is not None:
            keep(folder, grade)
    except ZooError as error:
        click.echo(
            wrapped(f"Your progress was not saved; the grade itself is not affected. {error}"), err=True
        )


def chosen_file(exercise: str | None) -> Path:
    """Return the default file to grade: that of the exercise `exercise`, or of the current one.

    Raises:
        ZooError: there are no exercises here, or all are solved.
    """
    from grader.catalog import get_exercise
    from grader.learner.folder import need_folder

    folder = need_folder()
    if not folder.keeps_progress() and not folder.is_damaged():  # a grade says so itself
        start = f"`zoo start {shlex.quote(str(folder.path))}`"
        text = f"{folder.path} has no progress file, so grades are not recorded. {start} adds one."
        click.echo(wrapped(text), err=True)
    return folder.file(get_exercise(exercise) if exercise else folder.current())
