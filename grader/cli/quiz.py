"""`zoo quiz FILE`."""

from __future__ import annotations

import secrets
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING

import click

from grader.cli.options import exercise_option, sandbox_option
from grader.core.results import clean
from zoo.cli.text import bold, wrapped

if TYPE_CHECKING:
    from grader.learner.quiz import Question
    from grader.sandbox.sandbox import Asked

MOST_SHOWN = 4  # tests that failed


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@exercise_option
@click.option("--training", is_flag=True, help="Ask about the training test (slower).")
@click.option("--show", is_flag=True, help="Show the answer without asking.")
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), help="Random seed of the change (default: random)."
)
@sandbox_option
def quiz(
    file: Path, exercise: str | None, training: bool, show: bool, seed: int | None, sandbox: Asked
) -> None:
    """Change one thing in your own correct FILE, and guess what happens.

    FILE itself is not changed. The changed copy is graded in the sandbox, so the answer is what really happens.

    \b
    Examples:
      zoo quiz attention.py
      zoo quiz attention.py --training
    """
    from grader.catalog import exercise_for, get_exercise
    from grader.core.progress import Progress
    from grader.learner.quiz import WITHOUT_TRAINING, check_right, question
    from grader.library import read_source
    from grader.run.run import Request, grade_file
    from grader.sandbox.sandbox import Sandbox

    def silent(what: str, done: int, total: int) -> None:
        """Show no progress."""

    progress: Progress = silent
    chosen = get_exercise(exercise) if exercise else exercise_for(file)
    source = read_source(file)
    seed = secrets.randbelow(2**31) if seed is None else seed
    with Sandbox(sandbox) as confined:
        request = Request(chosen, str(file), source, "cpu", seed, WITHOUT_TRAINING, sandbox=confined)
        check_right(request, lambda one: grade_file(one, progress))
        asked = question(request, lambda one: grade_file(one, progress), about_training=training)
    _ask(asked, file, show)


def _ask(asked: Question, file: Path, show: bool) -> None:
    click.echo(bold(clean(f"{file}, line {asked.line}, changed:")))
    for mark, lines, colour in (("-", asked.old, "red"), ("+", asked.new, "green")):
        for line in lines:
            click.secho(clean(f"{mark} {line}"), fg=colour)
    click.echo(f"\n{asked.text}\n")
    letters = ascii_lowercase[: len(asked.options)]
    for letter, option in zip(letters, asked.options, strict=True):
        click.echo(wrapped(clean(f"{letter}) {option}"), "  "))
    right = letters[asked.answer]
    if show:
        click.echo(f"\nThe answer is {right}.")
    else:
        given = click.prompt("\nYour answer", type=click.Choice(list(letters)), show_choices=True)
        click.echo("\nRight." if given == right else f"\nNo, the answer is {right}.")
    _explain(asked)


def _explain(asked: Question) -> None:
    failed = [one for one in asked.grade.results if one.status == "failed"]
    for one in failed[:MOST_SHOWN]:
        click.echo(wrapped(f"- {one.title}", "  "))
    left = len(failed) - MOST_SHOWN
    if left > 0:
        click.echo(f"  and {left} more tests")
    said = [one.text for one in asked.grade.mistakes] or [one.message.partition("\n")[0] for one in failed]
    for text in filter(None, said[:1]):
        click.echo("\n" + wrapped(clean(text), "  "))
