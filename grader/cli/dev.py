"""`zoo dev`: commands for authors of exercises and mistakes."""

from __future__ import annotations

import contextlib
import csv
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.options import SomeOf
from zoo.cli.text import wrapped
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from grader.author.proofs import Examined


@click.group()
def dev() -> None:
    """For authors: verify or scaffold an exercise, and find the file of anything that has a name.

    \b
    Examples:
      zoo dev new-exercise rms_norm
      zoo dev check rms_norm
      zoo dev where missing-scale
    """


def _names() -> list[str]:
    from grader.catalog import get_exercises

    return list(get_exercises())


@dev.command()
@click.argument("exercises", type=SomeOf("exercise", _names), required=False, metavar="[EXERCISE,...]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of processes that grade in parallel.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a CSV: for each mistake, the tests that caught it.",
)
@click.option(
    "--variant",
    type=click.IntRange(min=0),
    help="Write each mistake in one way only, its Nth (after the last comes the first again), instead of in all: "
    "faster, but whether each test catches a mistake is not checked.",
)
@click.pass_context
def check(
    ctx: click.Context,
    exercises: str | None,
    seed: int,
    jobs: int,
    output: Path | None,
    variant: int | None,
) -> None:
    """Verify exercises (default: all), built-in or from plugins.

    The template must fail and the solution must pass; each known mistake must be caught by exactly one test,
    which names it; each test must catch a mistake; each component must have its hints. Training tests are
    skipped. Exit code 1 if a check failed.

    \b
    Examples:
      zoo dev check
      zoo dev check masks,loss --output matrix.csv
      zoo dev check --jobs 4
    """
    from grader.author.matrix import grading_processes
    from grader.author.proofs import examine
    from grader.catalog import get_exercise, get_mistakes

    wanted = [get_exercise(name) for name in (exercises.split(",") if exercises else _names())]
    if output is not None and not output.absolute().parent.is_dir():
        raise click.UsageError(
            f"Cannot write '{output.name}': the directory '{output.parent}' does not exist."
        )
    from tqdm import tqdm

    examined = []
    total = sum(len(get_mistakes(one.name)) for one in wanted)
    side_by_side = grading_processes(jobs) if jobs > 1 else contextlib.nullcontext()
    with (
        side_by_side as processes,
        tqdm(total=total, disable=None, leave=False, unit="mistake") as bar,
    ):
        # whole exercises, the longest first: the mistakes of one have answers in common, which a process computes once
        begun = {}
        if processes is not None and len(wanted) > 1:
            longest_first = sorted(wanted, key=lambda one: -len(get_mistakes(one.name)))
            begun = {one.name: processes.submit(examine, one, seed, variant=variant) for one in longest_first}
        for exercise in wanted:
            bar.set_description(exercise.name)
            if begun:
                examined.append(begun[exercise.name].result())
                bar.update(len(get_mistakes(exercise.name)))
            else:
                examined.append(examine(exercise, seed, bar.update, processes, variant))
            with tqdm.external_write_mode():
                click.echo("\n".join(_page(examined[-1])))
    if output is not None:
        _write(output, examined)
    failed = [one.exercise for one in examined if not one.holds]
    rows = sum(len(one.rows) for one in examined)
    count = f"{len(wanted)} exercise{'s' if len(wanted) > 1 else ''}"
    click.echo(wrapped(f"{count}, {total} known mistakes in {rows} variants."))
    if failed:
        click.echo(click.style(wrapped(f"Checks failed for: {', '.join(failed)}."), fg="red"))
        ctx.exit(1)
    click.echo(click.style("All checks passed.", fg="green"))


def _page(one: Examined) -> Iterator[str]:
    yield click.style(one.exercise, bold=True)
    for proof in one.proofs:
        mark = click.style("failed", fg="red") if proof.problems else click.style("ok    ", fg="green")
        yield f"  {mark}  {proof.claim}"
        for problem in proof.problems:
            yield wrapped(problem, indent="          ")


def _write(output: Path, examined: list[Examined]) -> None:
    """Write the matrix, atomically."""
    fields = ("exercise", "mistake", "variant", "killed_by", "named", "seen_by", "problem")
    beside = output.with_name(f".{output.name}.part")
    try:
        with beside.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(fields)
            for row in (row for one in examined for row in one.rows):
                named, seen = " ".join(row.named), " ".join(row.seen_by)
                writer.writerow(
                    [row.exercise, row.mistake, row.variant, row.killed_by, named, seen, row.problem]
                )
        beside.replace(output)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise ZooError(f"Cannot write '{output}': {error.strerror}.") from error


@dev.command()
@click.argument("name", nargs=-1, required=True)
@click.option("--all", "every", is_flag=True, help="List all names that contain NAME, not only ten.")
@click.pass_context
def where(ctx: click.Context, name: tuple[str, ...], every: bool) -> None:
    """Print the file and line of NAME: a command, axis, variant, preset, exercise, hidden test (its title in a grade)
    or known mistake. An exercise is listed with all its files. Up to ten names that contain NAME follow; --all lists
    them all.

    \b
    Examples:
      zoo dev where masks
      zoo dev where masking
      zoo dev where gqa
      zoo dev where class grade
      zoo dev where mask --all
      zoo dev where "function: applies bool masks"
    """
    from grader.author import where as names

    root = ctx.find_root().command
    assert isinstance(root, click.Group)
    typed = " ".join(name)
    found = names.where(typed, names.everything(root))
    listed = found.others if every else found.others[:10]
    for one in found.exact:
        click.echo(f"{one.place}  {one.title if one.kind == 'command' else one.kind}")
    for one in listed:
        click.echo(f"{one.place}  {one.title}")
    if left := len(found.others) - len(listed):
        click.echo(f"{left} more names contain '{typed}': zoo dev where {shlex.join(name)} --all")
    for one in found.subcommands:
        click.echo(f"{one.place}  {one.title}")


@dev.command("new-exercise", short_help="Create a package with a small working exercise.")
@click.argument("name")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    show_default="the current directory",
    help="Directory to create the package in.",
)
def new_exercise(name: str, into: Path) -> None:
    """Create a package with a small working exercise called NAME, as a starting point.

    NAME is a lower-case Python name, such as rms_norm. The package has a template, solution, reference,
    mistakes, hidden tests and hints, and passes `zoo dev check NAME`.

    \b
    Example:
      zoo dev new-exercise rms_norm --into packages
    """
    from grader.author.skeleton import write

    folder = write(name, into)
    click.echo(wrapped(f"Created '{folder}'. Install and verify it:"))
    click.echo(f"  pip install -e {shlex.quote(str(folder))}\n  zoo dev check {name}")


@dev.command("class")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--students", type=click.IntRange(min=1), default=30, show_default=True, help="Number of students."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Random seed.")
@click.option(
    "--layout",
    default="folders",
    show_default=True,
    help="Layout of the files: folders, flat, moodle, canvas or gradescope.",
)
@click.option(
    "--exercises",
    type=SomeOf("exercise", _names),
    metavar="EXERCISE,...",
    default="masks,norm",
    show_default=True,
    help="Exercises, comma-separated.",
)
@click.option(
    "--attempts",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Largest number of attempts per exercise.",
)
@click.option(
    "--hostile",
    type=click.FloatRange(0, 1),
    default=0.02,
    show_default=True,
    help="Fraction of files that attack the grader.",
)
@click.option(
    "--broken",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Fraction of files that cannot be loaded.",
)
@click.option(
    "--copied",
    type=click.FloatRange(0, 0.3),
    default=0.03,
    show_default=True,
    help="Fraction of students who copy another student's file and rename things.",
)
def synthetic_class(folder: Path, exercises: str, **options: Any) -> None:
    """Generate a sample class in FOLDER, to try `zoo class`.

    Writes correct, wrong, broken, hostile and copied submissions, and truth.csv, which tells what each file is.

    \b
    Example:
      zoo dev class demo --students 300 --seed 1
      zoo class grade demo/submissions --roster demo/roster.csv
    """
    from grader.classroom.synthetic import write_class

    written = write_class(folder, exercises=exercises.split(","), **options)
    kinds = ", ".join(f"{count} {kind}" for kind, count in written.kinds.items())
    copies = f"; {written.copies} copied from others" if written.copies else ""
    click.echo(wrapped(f"Wrote {sum(written.kinds.values())} files to '{written.folder}': {kinds}{copies}."))
    click.echo(wrapped(f"Roster: '{written.roster}'. What each file is: '{written.truth}'."))
