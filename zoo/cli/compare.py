"""`zoo compare`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.blueprint import Blueprint, get_preset, make_blueprint
from zoo.cli.options import (
    axis_options,
    axis_values,
    blueprint_from,
    defaults_text,
    device_option,
    json_option,
    preset_option,
    seed_option,
    size_options,
)
from zoo.cli.tables import comparison
from zoo.cli.text import print_json
from zoo.errors import CombinationError, ZooError
from zoo.recipe import Recipe
from zoo.tasks import Task, get_task

if TYPE_CHECKING:
    from zoo.compare import Conditions, Row

DEFAULT_TASK, DEFAULT_STEPS = "reverse", Recipe().steps
BATCH, LENGTH = 8, 32


def _small() -> Blueprint:
    """What is compared where nothing is said: quick, yet large enough that a part's cost shows."""
    return make_blueprint(
        d_model=128, num_heads=4, d_ff=512, num_encoder_layers=2, num_decoder_layers=2, dropout=0.0
    )


@click.command(epilog=defaults_text(_small()) + " With --train: the preset of the task.")
@preset_option
@axis_options(several=True)
@size_options
@click.option("--batch", type=click.IntRange(1), default=BATCH, show_default=True, help="Rows of a batch.")
@click.option("--length", type=click.IntRange(1), help=f"Tokens of a row; {LENGTH}, or max-len if less.")
@click.option("--train", "training", is_flag=True, help="Train each too, and score it on unseen texts.")
@click.option("--task", metavar="NAME", help=f"With --train: on what; {DEFAULT_TASK}.")
@click.option("--steps", type=click.IntRange(1), help=f"With --train: how long; {DEFAULT_STEPS}.")
@seed_option
@device_option
@click.option(
    "--csv",
    "csv_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a CSV too, with machine and versions; an old one is replaced.",
)
@json_option
def compare(csv_path: Path | None, as_json: bool, **given: Any) -> None:
    """Every combination of some variants in one table.

    Give any axis several variants, separated by commas, options after a colon. Columns: trained
    parameters; floating-point operations of a forward pass; median time of a forward pass, and of a
    training step (forward, backward, AdamW), on one CPU thread or on CUDA; most memory in use during a
    training step (parameters, optimizer state, gradients, activations, as torch's allocator counts them);
    largest difference of the logits to those of attention=eager with the same weights, where the attention
    claims to equal it; with --train, the share of unseen texts answered exactly right.

    A combination that cannot work is a row with the reason.

    \b
    Examples:
      zoo compare --attention=eager,fused --norm=pre,post
      zoo compare --attention=eager:bias=false,fused --length 256 --csv out.csv
      zoo compare --norm=pre,post,res-post --train --steps 100
    """
    task, steps = _training(given)
    batch, length, seed, device = (given.pop(name) for name in ("batch", "length", "seed", "device"))
    choices = axis_values(given)
    base = blueprint_from(given, get_preset(task.preset).blueprint() if task else _small())

    if length is not None and length > base.sizes.max_len:
        raise CombinationError(
            f"--length={length} is over max_len={base.sizes.max_len}: take --max-len={length} too."
        )

    from zoo.compare import Conditions, combinations
    from zoo.devices import resolve_device
    from zoo.records import check_csv, records, write_csv

    conditions = Conditions(
        batch=batch,
        length=length or min(LENGTH, base.sizes.max_len),
        seed=seed,
        device=resolve_device(device),
        task=task.name if task else None,
        steps=steps,
    )
    if csv_path is not None:
        check_csv(csv_path)
    rows = _measure(combinations(base, choices), conditions)
    flat = records(rows, conditions)
    if csv_path is not None:
        write_csv(csv_path, flat)
    if as_json:
        print_json(flat)
    else:
        click.echo(comparison(rows, _columns(choices), conditions))


def _columns(choices: dict[str, list[str]]) -> list[str]:
    """The axes to show: those with several variants, else those that were given."""
    return [axis for axis, texts in choices.items() if len(texts) > 1] or list(choices) or ["attention"]


def _training(given: dict[str, Any]) -> tuple[Task | None, int]:
    """What to train on, None for no training, and how long; takes its entries out of `given`."""
    training, task, steps = (given.pop(name) for name in ("training", "task", "steps"))
    if not training and (task or steps):
        raise ZooError("--task and --steps say how to train: give --train too.")
    return get_task(task or DEFAULT_TASK) if training else None, steps or DEFAULT_STEPS


def _measure(blueprints: Sequence[Blueprint], conditions: Conditions) -> list[Row]:
    from tqdm import tqdm

    from zoo.compare import compare as measure
    from zoo.compare import number_of_stages
    from zoo.training import check_sizes, load_task

    if conditions.task is not None:
        check_sizes(blueprints[0].sizes, load_task(conditions.task))
    total = number_of_stages(blueprints, conditions)
    with tqdm(total=total, leave=False, disable=not sys.stderr.isatty(), unit="") as bar:

        def on_stage(done: str) -> None:
            bar.set_description(done)
            bar.update()

        return measure(blueprints, conditions, on_stage)
