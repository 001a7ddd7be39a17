"""Options, states and tables that the commands of `zoo class` share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from grader.cli.options import OneOf, SomeOf, exercise_names, sandbox_option
from grader.core.results import clean
from zoo.cli.text import columns, counted, wrapped

SHOWN = 10  # lines of a list that can be long


def _categories() -> Iterable[str]:
    from grader.catalog import CATEGORIES

    return CATEGORIES


def _skippable() -> Iterable[str]:
    return (*_categories(), "none")


def _engines() -> Iterable[str]:
    from grader.classroom.engines import get_engines

    return get_engines()


def _pairs(_ctx: click.Context, _param: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE, NAME=VALUE, ... as a dict. Raises click.BadParameter."""
    found = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not (name.isidentifier() and equals):
            raise click.BadParameter(f"'{one}' is not of the form NAME=VALUE.")
        found[name] = value
    return found


gradebook_option = click.option(
    "--gradebook",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default="gradebook.sqlite",
    show_default=True,
    envvar="ZOO_GRADEBOOK",
    help="The class's gradebook.",
)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


anonymous_option = click.option("--anonymous", is_flag=True, help="Replace names, emails and ids.")


exercise_option = click.option(
    "--exercise", type=OneOf("exercise", exercise_names), metavar="NAME", help="Only this exercise."
)


GRADING_OPTIONS = (
    click.option(
        "--jobs",
        type=click.IntRange(min=1),
        help="Number of files to grade in parallel (default: as many as there are CPU cores).",
    ),
    click.option(
        "--skip",
        type=SomeOf("category", _skippable),
        metavar="CATEGORIES",
        help="Skip these test categories (comma-separated), such as training; `none` runs all tests. "
        "Default: the selection of the last run in the gradebook, which also keeps --no-library-attention.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**31 - 1),
        help="Random seed of the tests (default: that of the last run, the same for the whole class).",
    ),
    click.option(
        "--device",
        type=click.Choice(["cpu", "cuda", "auto"]),
        default="cpu",
        show_default=True,
        help="Device that submissions run on.",
    ),
    sandbox_option,
    click.option(
        "--no-library-attention",
        "strict",
        is_flag=True,
        help="Reject files that call a built-in attention, such as nn.MultiheadAttention.",
    ),
    click.option("--strict", "old_strict", is_flag=True, hidden=True),  # its former name
    click.option(
        "--time-limit",
        type=click.FloatRange(min=1),
        default=600.0,
        show_default=True,
        metavar="SECONDS",
        help="Wall time of one grade.",
    ),
    click.option(
        "--tries",
        type=click.IntRange(min=1),
        default=2,
        show_default=True,
        help="Attempts for a file whose grading process dies or hangs.",
    ),
)
ENGINE_OPTIONS = (
    click.option(
        "--engine",
        type=OneOf("engine", _engines),
        default="local",
        show_default=True,
        metavar="NAME",
        help="Where to grade: local, ray (a Ray cluster), submitit (SLURM), or a plugin's engine.",
    ),
    click.option(
        "--address",
        default="",
        metavar="HOST:PORT",
        help="The Ray cluster, or auto (default: start Ray on this machine).",
    ),
    click.option(
        "--cpus-per-grade",
        "cpus",
        type=click.FloatRange(0, min_open=True),
        default=1.0,
        show_default=True,
        metavar="NUMBER",
        help="CPU cores that a cluster reserves for each grade.",
    ),
    click.option(
        "--gpus-per-grade",
        "gpus",
        type=click.FloatRange(0),
        default=0.0,
        show_default=True,
        metavar="NUMBER",
        help="GPUs that a cluster reserves for each grade; may be a fraction.",
    ),
    click.option(
        "--memory-per-grade",
        "memory",
        type=click.FloatRange(0),
        default=0.0,
        metavar="GB",
        help="Memory that a cluster reserves for each grade.",
    ),
    click.option(
        "--engine-option",
        "engine_options",
        multiple=True,
        callback=_pairs,
        metavar="NAME=VALUE",
        help="An option of the engine, such as slurm_partition=short.",
    ),
    click.option(
        "--trust",
        is_flag=True,
        help="Trust all authors: grade on a cluster without a strict sandbox.",
    ),
)


def grading_options(command: Any) -> Any:
    """Add the options of every command that grades."""
    for option in reversed((*GRADING_OPTIONS, *ENGINE_OPTIONS, gradebook_option, json_option)):
        command = option(command)
    return command


def format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def duration(seconds: float) -> str:
    """For people: "40 s", "12 min", "3.5 h"."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 3_600:.1f} h" if seconds >= 3_600 else f"{seconds / 60:.0f} min"


def show_unplaced(unplaced: Sequence[tuple[str, str]]) -> None:
    if unplaced:
        click.echo(wrapped(f"{counted(len(unplaced), 'file')} skipped:"))
        click.echo(columns([(clean(path, 200), reason) for path, reason in unplaced[:SHOWN]]))
        if len(unplaced) > SHOWN:
            click.echo(f"  and {len(unplaced) - SHOWN} more; `zoo class status --json` lists all.")
