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


exercise_option = click.option(
    "--exercise", type=OneOf("exercise", exercise_names), metavar="NAME", help="Only this exercise."
)


def grading_options(command: Any) -> Any:
    for option in reversed(
        (
            click.option(
                "--jobs",
                type=click.IntRange(min=1),
                help="Number of files to grade in parallel (default: the number of CPU cores).",
            ),
            click.option(
                "--skip",
                type=SomeOf("category", _categories),
                metavar="CATEGORIES",
                help="Skip these test categories (comma-separated), such as training.",
            ),
            click.option(
                "--seed",
                type=click.IntRange(0, 2**31 - 1),
                help="Random seed of the tests (default: the same for the whole class).",
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
            gradebook_option,
            json_option,
        )
    ):
        command = option(command)
    return command


STATES = {
    "graded": "graded",
    "unloadable": "could not be loaded",
    "refused": "rejected: against the rules",
    "stopped": "stopped at a limit",
    "broken": "not graded: internal error of the grader",
    "waiting": "not graded yet",
    "missing": "nothing submitted",
    "override": "set by hand",
}


def format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


def show_unplaced(unplaced: Sequence[tuple[str, str]]) -> None:
    if unplaced:
        click.echo(wrapped(f"{counted(len(unplaced), 'file')} skipped (student or exercise unclear):"))
        click.echo(columns([(clean(path, 200), reason) for path, reason in unplaced[:SHOWN]]))
        if len(unplaced) > SHOWN:
            click.echo(f"  and {len(unplaced) - SHOWN} more; `zoo class status --json` lists all.")
