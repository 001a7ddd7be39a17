"""`zoo compare`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.compare_tables import comparison, comparison_page
from zoo.cli.options import (
    accelerate_option,
    axis_options,
    axis_values,
    defaults_text,
    device_option,
    html_option,
    json_option,
    presets_option,
    runs_option,
    size_options,
    sizes_from,
    tensorboard_option,
)
from zoo.cli.task_group import TYPED, TaskGroup, inputs_from
from zoo.cli.text import output_alone, print_alone, print_json, wrapped
from zoo.core.blueprint import Sizes, get_preset, make_blueprint
from zoo.core.errors import CombinationError, ZooError
from zoo.core.recipe import Recipe
from zoo.core.tasks import Inputs, Task, get_task

if TYPE_CHECKING:
    from zoo.analysis.compare import Candidate, Conditions, Row

DEFAULT_TASK, DEFAULT_STEPS = "reverse", Recipe().steps
BATCH, LENGTH = 8, 32
STANDARD_OUTPUT = Path("-")


SMALL = Sizes(d_model=128, num_heads=4, d_ff=512, num_encoder_layers=2, num_decoder_layers=2, dropout=0.0)
"""The sizes that are compared by default: quick, yet large enough that a part's cost shows."""


def _seeds(_ctx: click.Context, _param: click.Parameter, value: str) -> tuple[int, ...]:
    try:
        seeds = tuple(dict.fromkeys(int(one) for one in value.split(",")))
    except ValueError:
        seeds = ()
    if not seeds or not all(0 <= one < 2**63 for one in seeds):
        raise click.BadParameter("expected whole numbers from 0 to 2^63 - 1, separated by commas.")
    return seeds


@click.command(cls=TaskGroup, epilog=defaults_text(SMALL) + " With a task: its preset.")
@presets_option
@axis_options(several=True)
@size_options
@click.option("--batch", type=click.IntRange(1), default=BATCH, show_default=True, help="Rows per batch.")
@click.option(
    "--length",
    type=click.IntRange(1),
    help=f"Tokens per row (default: {LENGTH}, or the smallest max-len if less).",
)
@click.option("--train", "training", is_flag=True, help="Also train each one and score it on unseen texts.")
@click.option("--task", metavar="NAME", help=f"Train on this task (default with --train: {DEFAULT_TASK}).")
@click.option(
    "--steps",
    type=click.IntRange(1),
    help=f"Steps of each training (default: the task's, else {DEFAULT_STEPS}).",
)
@click.option(
    "--seed",
    metavar="N,...",
    default="0",
    show_default=True,
    callback=_seeds,
    help="Random seeds for weights and data, comma-separated; one training each.",
)
@click.option(
    "--seeds", type=click.IntRange(1), metavar="N", help="Number of consecutive seeds, starting at --seed."
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of parallel processes.",
)
@runs_option
@tensorboard_option
@device_option
@accelerate_option
@click.option(
    "--csv",
    "csv_path",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Also write a CSV, with machine and versions (replaces FILE); - prints it instead of the table.",
)
@html_option(
    "Also write a page to FILE: a table that sorts, bars, and with a task the curves of the trainings."
)
@json_option
@click.pass_context
def compare(
    ctx: click.Context, /, csv_path: Path | None, html: Path | None, as_json: bool, **given: Any
) -> None:
    """Compare combinations of variants and presets in one table.

    Each axis takes several variants, separated by commas (options after a colon), and --preset several names; the
    table has one row per combination. Columns: what varies; trainable parameters; floating-point operations of
    a forward pass; median time of a forward pass and of a training step (forward, backward, AdamW), on one CPU
    thread or on CUDA; peak memory of a training step, as counted by torch's allocator; and, for attentions that
    are declared exact, the largest difference from attention=eager with the same weights.

    --train or --task adds a second table: each combination is trained as with `zoo train`, with its own loss,
    schedule and decoding and its preset's settings except --steps. It shows the share of unseen texts answered
    correctly and the last loss; with several seeds, the median, minimum and maximum.

    --jobs runs rows and seeds in parallel processes with one thread each. Times are measured in a single process
    after the others have finished.

    A combination that cannot work, or that fails, gets a row with the reason. Exit code 1 if all rows fail.

    \b
    Examples:
      zoo compare --attention=eager,fused --norm=pre,post
      zoo compare --attention=eager:bias=false,fused --length 256 --csv out.csv
      zoo compare --preset vaswani2017,modern --d-model 128 --num-heads 4
      zoo compare --norm=pre,post --task reverse --seeds 3 --jobs 2
    """
    if ctx.invoked_subcommand is not None:
        return
    if as_json and csv_path == STANDARD_OUTPUT:
        raise ZooError("--json and --csv=- both want standard output: give one of them, or --csv a file.")
    from zoo.analysis.records import check_csv, csv_text, records, write_csv

    file = None if csv_path == STANDARD_OUTPUT else csv_path
    if csv_path == STANDARD_OUTPUT:
        ctx.with_resource(output_alone())
    candidates, conditions, columns = _parse(given)
    if file is not None:
        check_csv(file)
    _check_runs(candidates, conditions)
    if html is not None and conditions.task is not None and conditions.runs is None:
        runs = Path(ctx.with_resource(TemporaryDirectory(prefix="zoo-")))  # for the curves
        conditions = replace(conditions, runs=runs)
    rows = _measure(candidates, conditions)
    flat = records(rows, conditions)
    if as_json:
        print_json(flat)
    elif csv_path == STANDARD_OUTPUT:
        print_alone(csv_text(flat))
    else:
        click.echo(comparison(rows, columns, conditions))
    if file is not None:
        write_csv(file, flat)
    if html is not None:
        _write_page(html, rows, columns, conditions, ctx.meta[TYPED])
    if not any(row.measured for row in rows):
        ctx.exit(1)


def _write_page(
    path: Path, rows: Sequence[Row], columns: Sequence[str], conditions: Conditions, command: str
) -> None:
    from zoo.pages.rendering import write
    from zoo.training.record import read_record

    folders = [one.run for row in rows for one in row.trainings if one.run is not None]
    write(path, comparison_page(rows, columns, conditions, [read_record(one) for one in folders], command))
    click.echo(wrapped(f"Wrote {path}."), err=True)


def _parse(given: dict[str, Any]) -> tuple[list[Candidate], Conditions, list[str]]:
    """Return what is to be compared, under which conditions, and what tells the rows apart."""
    task, steps, seeds = _training(given)
    batch, length, jobs, device = (given.pop(name) for name in ("batch", "length", "jobs", "device"))
    accelerated, runs, boards = (given.pop(name) for name in ("accelerate", "runs", "tensorboard"))
    if runs is not None and task is None:
        raise ZooError("--runs records trainings: add --train or --task.")
    if boards and runs is None:
        raise ZooError("--tensorboard writes to the folders of --runs DIR: give that too.")
    choices, inputs = axis_values(given), inputs_from(given)
    asked = [one.name for one in fields(Sizes) if given[one.name] is not None]

    from zoo.analysis.compare import Conditions, combinations
    from zoo.models.devices import resolve_device

    bases = _bases(given, task)
    candidates = combinations(bases, choices)
    if task is not None:
        candidates = _fitted(candidates, task, inputs, asked)
    shortest = min(one.blueprint.sizes.max_len for one in candidates)
    conditions = Conditions(
        batch=batch,
        length=length or min(LENGTH, shortest),
        seeds=seeds,
        device=resolve_device(device),
        task=task.name if task else None,
        steps=steps,
        jobs=jobs,
        accelerated=accelerated,
        runs=runs,
        boards=boards,
        inputs=inputs,
    )
    return candidates, conditions, _columns(bases, choices)


def _fitted(
    candidates: Sequence[Candidate], task: Task, inputs: Inputs, asked: Sequence[str]
) -> list[Candidate]:
    """Candidates with the vocabularies of the task, if its data makes them, but for sizes that were asked for."""
    from zoo.training.tasks.base import AlignedData
    from zoo.training.trainer import load_data

    data = load_data(task.name, inputs)
    if not isinstance(data, AlignedData):
        return list(candidates)
    return [replace(one, blueprint=data.fitted(one.blueprint, asked)) for one in candidates]


def _check_runs(candidates: Sequence[Candidate], conditions: Conditions) -> None:
    """Raise ZooError where a training cannot be recorded; say so where that replaces the record of another."""
    from zoo.analysis.compare import run_folders

    folders = [*run_folders(candidates, conditions).values()]
    check_folders(conditions.runs, folders, conditions.boards)


def check_folders(runs: Path | None, folders: Sequence[Path], boards: bool) -> None:
    """The same for these folders, in `runs`."""
    from zoo.models.checkpoint import check_directory
    from zoo.training.record import in_words
    from zoo.training.recorder import check_board

    if boards:
        check_board()
    for folder in folders:
        check_directory(folder)
    there = [folder.name for folder in folders if in_words(folder)]
    if there:
        names = ", ".join(there[:3]) + (f" and {len(there) - 3} more" if len(there) > 3 else "")
        click.echo(wrapped(f"'{runs}' has records of trainings ({names}). These replace them."), err=True)


def _bases(given: dict[str, Any], task: Task | None) -> list[Candidate]:
    """Return what choices are crossed with: the presets asked for, else one blueprint; with the sizes asked for."""
    from zoo.analysis.compare import Candidate

    text = given.pop("preset")
    names = [] if text is None else list(dict.fromkeys(one.strip() for one in text.split(",") if one.strip()))
    if text is not None and not names:
        raise ZooError(f"--preset={text}: expected one or more presets, separated by commas.")
    if not names and task is None:
        found = [Candidate(make_blueprint(**asdict(SMALL)))]
    else:
        presets = [get_preset(name) for name in names or [task.preset if task else ""]]
        found = [
            Candidate(
                preset.blueprint(),
                preset.name if names else "",
                {**preset.recipe, **(task.recipe if task else {})},
            )
            for preset in presets
        ]
    sizes = sizes_from(given)
    return [replace(one, blueprint=one.blueprint.with_sizes(**sizes)) for one in found]


def _columns(bases: Sequence[Candidate], choices: dict[str, list[str]]) -> list[str]:
    """Return what tells rows apart: `preset`, and axes with several variants; else whatever was given."""
    varied = ["preset"] * (len(bases) > 1) + [axis for axis, texts in choices.items() if len(set(texts)) > 1]
    return varied or ["preset"] * bool(bases[0].preset) + list(choices) or ["attention"]


def _training(given: dict[str, Any]) -> tuple[Task | None, int, tuple[int, ...]]:
    """What to train on, None for no training, how long, and with which seeds; takes its entries out of `given`."""
    training, task, steps, seeds, count = (
        given.pop(name) for name in ("training", "task", "steps", "seed", "seeds")
    )
    if count is not None and len(seeds) > 1:
        raise ZooError("--seeds counts up from a single --seed: pass one number to --seed, or omit --seeds.")
    if count is not None:
        seeds = tuple(range(seeds[0], seeds[0] + count))
    if not training and task is None and (steps or len(seeds) > 1):
        raise ZooError("--steps and several seeds apply to training only: add --train or --task.")
    wanted = training or task is not None
    found = get_task(task or DEFAULT_TASK) if wanted else None
    return found, steps or (found.recipe if found else {}).get("steps", DEFAULT_STEPS), seeds


def _measure(candidates: Sequence[Candidate], conditions: Conditions) -> list[Row]:
    from tqdm import tqdm

    from zoo.analysis.compare import compare as measure
    from zoo.analysis.compare import number_of_stages, unfit
    from zoo.training.trainer import load_data

    task = None if conditions.task is None else load_data(conditions.task, conditions.inputs)
    reasons = [unfit(one, conditions, task) for one in candidates]
    if all(reasons):
        raise CombinationError(reasons[0])
    total = number_of_stages(candidates, conditions)
    with tqdm(total=total, leave=False, disable=not sys.stderr.isatty(), unit="") as bar:

        def on_stage(done: str) -> None:
            bar.set_description(done)
            bar.update()

        return measure(candidates, conditions, on_stage)
