"""`zoo grade FILE...`"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.options import OneOf, SomeOf
from grader.cli.output import Reports, UnwrittenError
from grader.core.results import GraderBrokenError
from zoo.cli.text import wrapped
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from grader.catalog import Exercise
    from grader.core.results import Grade
    from grader.sandbox.sandbox import Asked, Sandbox

UNWRITTEN = 74  # EX_IOERR of sysexits.h, as everywhere in zoo
INTERRUPTED = 130  # what a shell reports for Ctrl-C
GRADER_BROKEN = 3
START = "Error: "  # how click begins, which counts for the width


def _categories() -> Iterable[str]:
    from grader.catalog import CATEGORIES

    return CATEGORIES


def _exercises() -> Iterable[str]:
    from grader.catalog import get_exercises

    return get_exercises()


def _formats() -> Iterable[str]:
    from grader.reports import get_formats

    return get_formats()


@dataclass(frozen=True)
class Choices:
    """What was asked for on the command line, beside the files."""

    exercise: str | None
    seed: int
    device: str
    only: str | None
    skip: str | None
    sandbox: Asked
    strict: bool
    quick: bool

    def categories(self) -> frozenset[str]:
        """The categories to run. Raises ZooError if none is left."""
        from grader.library import categories

        only = self.only.split(",") if self.only else ()
        skip = self.skip.split(",") if self.skip else []
        return categories(only, [*skip, *(["training"] if self.quick else [])])

    def selection(self) -> str:
        """The options that leave tests out, as typed."""
        given = (f" --only {self.only}" if self.only else "") + (f" --skip {self.skip}" if self.skip else "")
        return given + (" --quick" if self.quick else "")

    def others(self) -> str:
        """The options that any further grade of the file needs, as typed."""
        given = f" --exercise {self.exercise}" if self.exercise else ""
        return (
            given
            + (f" --device {self.device}" if self.device != "auto" else "")
            + (f" --sandbox {self.sandbox}" if self.sandbox != "auto" else "")
            + (" --strict" * self.strict)
        )


@click.command(short_help="Grade a learner's file, and name its mistakes.")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option(
    "--exercise",
    type=OneOf("exercise", _exercises),
    metavar="NAME",
    help="Which exercise; told by the file name else.",
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Replay the grade that printed this seed.")
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Where it runs.",
)
@click.option(
    "--only", type=SomeOf("category", _categories), metavar="CATEGORIES", help="Only these, comma-separated."
)
@click.option("--skip", type=SomeOf("category", _categories), metavar="CATEGORIES", help="All but these.")
@click.option("--quick", is_flag=True, help="Leave out the training test.")
@click.option(
    "--sandbox",
    type=click.Choice(["auto", "strict", "process"]),
    default="auto",
    show_default=True,
    help="How the process of the file's code is confined, not what the code may call; auto: the best that holds here.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse files that call a library's own attention; it confines nothing, --sandbox does.",
)
@click.option(
    "--format",
    "format_name",
    type=OneOf("report format", _formats),
    default="terminal",
    show_default=True,
    metavar="NAME",
    help="terminal, json, junit, markdown, gradescope, github-classroom, exercism, or a plugin's.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report there, whole or not at all, and the page for people to standard output.",
)
@click.option(
    "--visibility",
    type=click.Choice(["visible", "hidden", "after_due_date", "after_published"]),
    help="Who sees the hidden tests, with --format gradescope.",
)
@click.pass_context
def grade(
    ctx: click.Context,
    /,
    files: tuple[Path, ...],
    format_name: str,
    output: Path | None,
    visibility: str | None,
    seed: int | None,
    **options: Any,
) -> None:
    """Grade FILE against the hidden tests of its exercise, and name the mistakes in it.

    Without FILE, the first exercise that is not solved is graded, in the current directory, its exercises/, or
    a folder above. What is solved is noted in progress.txt beside the exercises.

    Categories: shape, masking, numerics, gradients, parameters, behaviour, training.

    Exit code: 0 all passed, 1 something failed (also when the file cannot be loaded, or its code has to be
    stopped), 2 wrong usage, 3 the grader itself is broken, 130 interrupted.

    \b
    Examples:
      zoo grade
      zoo grade exercises/attention.py
      zoo grade exercises/attention.py --quick --only masking,numerics
      zoo grade anna.py ben.py --exercise attention --format json
    """
    choices = Choices(seed=secrets.randbelow(2**31) if seed is None else seed, **options)
    try:
        reports = Reports.of(format_name, output, visibility)
        ctx.exit(0 if _grade_all(files, reports, choices) else 1)
    except UnwrittenError as error:
        click.echo(wrapped(str(error)), err=True)
        ctx.exit(UNWRITTEN)
    except ZooError as error:
        raise click.UsageError(wrapped(f"{START}{error}").removeprefix(START), ctx) from error
    except GraderBrokenError as error:
        said = f"The grader itself is broken, which says nothing about your code. {error}"
        click.echo(wrapped(said), err=True)
        ctx.exit(GRADER_BROKEN)
    except KeyboardInterrupt:
        click.echo("\nInterrupted: the grade is not finished, and nothing is left running.", err=True)
        ctx.exit(INTERRUPTED)


def _grade_all(files: tuple[Path, ...], report: Reports, choices: Choices) -> bool:
    from grader.cli.exercises import chosen_file, remember
    from grader.library import read_source
    from grader.sandbox.sandbox import Sandbox

    choices.categories()
    files = files or (chosen_file(choices.exercise),)
    report.check(len(files))
    work = [(file, read_source(file), _exercise(file, choices)) for file in files]
    grades = []
    with Sandbox(choices.sandbox) as sandbox:
        for file, source, exercise in work:
            grades.append(_grade_one(file, exercise, source, choices, sandbox))
            report.add(grades[-1])
            remember(file, exercise, grades[-1], alone=len({one.parent for one in files}) == 1)
    report.close(grades)
    return all(one.passed for one in grades)


def _exercise(file: Path, choices: Choices) -> Exercise:
    from grader.catalog import exercise_for, get_exercise

    return get_exercise(choices.exercise) if choices.exercise else exercise_for(file)


def _grade_one(file: Path, exercise: Exercise, source: bytes, choices: Choices, sandbox: Sandbox) -> Grade:
    from grader.cli.bar import ProgressBar
    from grader.run.run import Request, grade_file

    progress = ProgressBar()
    request = Request(
        exercise=exercise,
        file=str(file),
        source=source,
        device=choices.device,
        seed=choices.seed,
        categories=choices.categories(),
        strict=choices.strict,
        sandbox=sandbox,
        selection=choices.selection(),
        options=choices.others(),
    )
    try:
        return grade_file(request, progress)
    finally:
        progress.close()
