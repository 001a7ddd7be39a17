"""`zoo grade FILE...`"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.options import OneOf, SomeOf, exercise_option, sandbox_option
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


def _formats() -> Iterable[str]:
    from grader.reports import get_formats

    return get_formats()


@dataclass(frozen=True)
class Choices:
    """The options of the command line."""

    exercise: str | None
    seed: int
    device: str
    only: str | None
    skip: str | None
    sandbox: Asked
    strict: bool
    quick: bool

    def categories(self) -> frozenset[str]:
        """Return the categories to run. Raises ZooError if none is left."""
        from grader.library import categories

        only = self.only.split(",") if self.only else ()
        skip = self.skip.split(",") if self.skip else []
        return categories(only, [*skip, *(["training"] if self.quick else [])])

    def selection(self) -> str:
        """Return the options that select tests, as typed."""
        given = (f" --only {self.only}" if self.only else "") + (f" --skip {self.skip}" if self.skip else "")
        return given + (" --quick" if self.quick else "")

    def others(self) -> str:
        """Return the other options that a further grade of the file needs, as typed."""
        given = f" --exercise {self.exercise}" if self.exercise else ""
        return (
            given
            + (f" --device {self.device}" if self.device != "auto" else "")
            + (f" --sandbox {self.sandbox}" if self.sandbox != "auto" else "")
            + (" --no-library-attention" * self.strict)
        )


@click.command(short_help="Grade a file and name its mistakes.")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@exercise_option
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31 - 1),
    help="Random seed, as printed by an earlier grade, to reproduce it.",
)
@click.option(
    "--device",
    type=click.Choice(["auto", "cpu", "cuda"]),
    default="auto",
    show_default=True,
    help="Device to run on; `auto` is cpu.",
)
@click.option(
    "--only",
    type=SomeOf("category", _categories),
    metavar="CATEGORIES",
    help="Run only these test categories (comma-separated).",
)
@click.option(
    "--skip", type=SomeOf("category", _categories), metavar="CATEGORIES", help="Skip these categories."
)
@click.option("--quick", is_flag=True, help="Skip the training test.")
@click.option(
    "--all",
    "show_all",
    is_flag=True,
    help="List passed tests too, and print each diagnosis in full.",
)
@sandbox_option
@click.option(
    "--no-library-attention",
    "strict",
    is_flag=True,
    help="Reject files that call a built-in attention, such as nn.MultiheadAttention.",
)
@click.option("--strict", "old_strict", is_flag=True, hidden=True)  # the former --no-library-attention
@click.option(
    "--format",
    "format_name",
    type=OneOf("report format", _formats),
    default="terminal",
    show_default=True,
    metavar="NAME",
    help="Report format: terminal, html, json, junit, markdown, gradescope, github-classroom, exercism, or a plugin's.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the report to FILE, and print the terminal report.",
    metavar="FILE",
)
@click.option(
    "--visibility",
    type=click.Choice(["visible", "hidden", "after_due_date", "after_published"]),
    help="Visibility of the tests on Gradescope (only with --format gradescope).",
)
@click.pass_context
def grade(
    ctx: click.Context,
    /,
    files: tuple[Path, ...],
    format_name: str,
    output: Path | None,
    visibility: str | None,
    show_all: bool,
    strict: bool,
    old_strict: bool,
    seed: int | None,
    **options: Any,
) -> None:
    """Run the hidden tests of an exercise on FILE and name the mistakes in it.

    Without FILE, grades your first unsolved exercise. It is searched for in the current directory,
    in exercises/, and in parent directories with a progress.txt.
    In a folder made by `zoo start`, the result is saved in its progress.txt.

    Categories: shape, masking, numerics, gradients, parameters, behaviour, training.

    Exit codes: 0 all tests passed, 1 a test failed (or the file could not be loaded, or had to be stopped),
    2 usage error, 3 internal error of the grader, 74 the report could not be written, 130 interrupted.

    \b
    Examples:
      zoo grade
      zoo grade exercises/attention.py
      zoo grade attention/anna.py
      zoo grade exercises/attention.py --quick --only masking,numerics
      zoo grade anna.py ben.py --exercise attention --format json
    """
    choices = Choices(
        seed=secrets.randbelow(2**31) if seed is None else seed, strict=strict or old_strict, **options
    )
    try:
        reports = Reports.of(format_name, output, visibility, show_all)
        ctx.exit(0 if _grade_all(files, reports, choices) else 1)
    except UnwrittenError as error:
        click.echo(wrapped(str(error)), err=True)
        ctx.exit(UNWRITTEN)
    except ZooError as error:
        raise click.UsageError(wrapped(f"{START}{error}").removeprefix(START), ctx) from error
    except GraderBrokenError as error:
        message = f"Internal error of the grader; your code is not at fault. {error}"
        click.echo(wrapped(message), err=True)
        ctx.exit(GRADER_BROKEN)
    except KeyboardInterrupt:
        click.echo("\nInterrupted.", err=True)
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
            remember(file, exercise, grades[-1])
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
