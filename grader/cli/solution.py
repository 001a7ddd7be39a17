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
@click.option("--spoil", is_flag=True, help="Show it even if the exercise is not solved.")
def solution(exercise: str, spoil: bool) -> None:
    """Show our solution of an exercise that you have solved.

    It is short and handles the corner cases, so it is worth comparing with yours. EXERCISE is a name or a file.

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
            f"You have not solved {exercise.name} yet. Get a hint with `zoo hint {exercise.name}`, "
            f"or show the solution anyway with `zoo solution {exercise.name} --spoil`."
        )
    click.echo(highlighted(solution_text(exercise).rstrip("\n")))
