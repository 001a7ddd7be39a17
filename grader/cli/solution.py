"""`zoo solution EXERCISE`."""

from __future__ import annotations

import click

from grader.catalog import Exercise
from grader.cli.exercises import exercise_argument
from grader.learner.folder import Folder, locate
from grader.learner.solution import solution_text
from zoo.cli.show import highlighted
from zoo.core.errors import ZooError


@click.command()
@exercise_argument(required=True)
@click.option("--spoil", is_flag=True, help="Show it, solved or not.")
def solution(exercise: str, spoil: bool) -> None:
    """The solution of an exercise, once yours is solved.

    Plain, short, and right in the corners too: worth a look beside your own. EXERCISE is a name or a file.

    \b
    Examples:
      zoo solution attention
      zoo solution attention --spoil > solution.py
    """
    folder, which = locate(exercise)
    show_solution(folder, which, spoil)


def show_solution(folder: Folder | None, exercise: Exercise, spoil: bool = False) -> None:
    """Print the solution's source, in colour where there is colour.

    Raises:
        ZooError: the exercise is not solved, and `spoil` is False; or the solution is not installed.
    """
    solved = folder is not None and not spoil and folder.record().entry(exercise.name).state == "solved"
    if not (solved or spoil):
        raise ZooError(
            f"{exercise.name} is not solved yet, and its solution would spoil it. "
            f"`zoo hint {exercise.name}` helps; `zoo solution {exercise.name} --spoil` shows it all the same."
        )
    click.echo(highlighted(solution_text(exercise).rstrip("\n")))
