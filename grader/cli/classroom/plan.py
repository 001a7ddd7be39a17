"""`zoo class plan`."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.classroom.shared import duration, gradebook_option, json_option
from zoo.cli.text import columns, counted, print_json, wrapped


def _numbers(_ctx: click.Context, _param: click.Parameter, given: str) -> tuple[int, ...]:
    """Whole numbers from 1, separated by commas. Raises click.BadParameter."""
    words = [word.strip().replace("_", "") for word in given.split(",")]
    if not all(word.isdecimal() and 0 < int(word) <= 10**7 for word in words):
        raise click.BadParameter(f"'{given}' is not a list of whole numbers, such as 300,3000.")
    return tuple(int(word) for word in words)


@click.command()
@click.option(
    "--files",
    callback=_numbers,
    default="300,3000,30000",
    show_default=True,
    metavar="NUMBERS",
    help="Numbers of files.",
)
@click.option(
    "--cores",
    callback=_numbers,
    default="2,16,200",
    show_default=True,
    metavar="NUMBERS",
    help="Numbers of CPU cores.",
)
@gradebook_option
@json_option
def plan(files: tuple[int, ...], cores: tuple[int, ...], path: Path, as_json: bool) -> None:
    """Estimate how long more files would take, on more cores.

    The estimate simulates the run with the CPU time of each grade in the gradebook, one grade per core. Grade a sample
    first. A cluster's cores should be as fast as this machine's.

    \b
    Example:
      zoo class plan --files 300,3000 --cores 2,16
    """
    import statistics

    from grader.catalog import get_exercises
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.plan import costs, simulate, start_cost
    from zoo.models.devices import processor

    with Gradebook(path) as book:
        measured = costs(book)
    start = start_cost(next(iter(get_exercises())))
    seconds = {(f, c): simulate(measured, f, c, start) for f in files for c in cores}
    mean = statistics.fmean(measured)
    if as_json:
        rows = [{"files": f, "cores": c, "hours": s / 3_600} for (f, c), s in seconds.items()]
        print_json(
            {
                "grades": len(measured),
                "mean_s": mean,
                "start_s": start,
                "processor": processor(),
                "plan": rows,
            }
        )
        return
    click.echo(
        wrapped(
            f"{counted(len(measured), 'grade')} in the gradebook, {mean:.2f} CPU s on average; {start:.1f} s to start "
            f"a process. Processor: {processor()}."
        )
    )
    head = ("files", *(counted(c, "core") for c in cores))
    click.echo(columns([head, *((f"{f:,}", *(duration(seconds[f, c]) for c in cores)) for f in files)]))
