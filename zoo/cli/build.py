"""`zoo build`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.analysis.explain import explain as why
from zoo.cli.explain import explanation_json, explanation_text
from zoo.cli.options import (
    accelerate_option,
    blueprint_from,
    blueprint_options,
    defaults_text,
    device_option,
    json_option,
    seed_option,
    tell_unused,
)
from zoo.cli.text import bold, columns, print_json, wrapped
from zoo.core.blueprint import Blueprint, Sizes
from zoo.core.describe import brief
from zoo.core.errors import CombinationError, ZooError
from zoo.core.plan import Plan
from zoo.core.plugins import get_registry
from zoo.core.rules import checked_plan

if TYPE_CHECKING:
    import torch

    from zoo.models.trial import Trial

NAMED = 4  # parameters named before the rest is counted


@click.command(epilog=defaults_text())
@blueprint_options
@seed_option
@device_option
@accelerate_option
@click.option("--save", type=click.Path(path_type=Path), metavar="DIR", help="Save the model to DIR.")
@click.option(
    "--explain",
    is_flag=True,
    help="Build nothing; print why the combination works or not, and the alternatives.",
)
@json_option
@click.pass_context
def build(
    ctx: click.Context,
    /,
    seed: int,
    device: str,
    accelerate: bool,
    save: Path | None,
    explain: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Assemble a Transformer and run it once.

    Prints the parts, the parameters by block, and the result of a forward and backward pass on a small padded
    batch. VARIANT is a name, a name with options (eager:bias=false), or a class in a file (file.py:Class). Exit
    code 1 if the loss or a gradient is not finite; 2 if the combination is rejected.

    --explain builds nothing. It checks the combination against the rules and lists, axis by axis, which other
    variants would fit. Exit code 0 if the combination works, 1 if not.

    \b
    Examples:
      zoo build --attention=fused --norm=pre
      zoo build --attention=eager:bias=false --d-model 128 --num-heads 4
      zoo build --attention=exercises/attention.py:MultiHeadAttention
      zoo build --preset reverse --save fresh
      zoo build --encoding=rotary --attention=torch --explain
    """
    said = [name for name, value in given.items() if value is not None]
    blueprint = blueprint_from(given)
    if explain:
        ctx.exit(_explain(blueprint, save, as_json))
    plan = _plan(blueprint)
    tell_unused(plan, said)
    ctx.exit(_build(blueprint, plan, seed, device, accelerate, save, as_json))


def _build(
    blueprint: Blueprint,
    plan: Plan,
    seed: int,
    device: str,
    faster: bool,
    save: Path | None,
    as_json: bool,
) -> int:
    """Build it, run it, and say what came of it; the exit code."""
    from zoo.accelerate import accelerate, tricks
    from zoo.models.builder import parameters_by_block
    from zoo.models.checkpoint import check_directory, save_checkpoint
    from zoo.models.devices import resolve_device
    from zoo.models.trial import build_on, try_out

    where = resolve_device(device)
    if save is not None:
        check_directory(save)
    model = build_on(plan, where, seed)
    blocks = parameters_by_block(model)
    if faster:
        accelerate(model)
    trial = try_out(model, blueprint, where, seed)
    if save is not None:
        save_checkpoint(save, model, blueprint, seed=seed)
    saved = None if save is None else str(save)
    if as_json:
        print_json(
            {
                "blueprint": blueprint.to_json(),
                "parameters": blocks,
                "total": sum(blocks.values()),
                "device": where.type,
                "seed": seed,
                "trial": {**asdict(trial), "good": trial.good},
                "tricks": tricks(model),
                "saved": saved,
            }
        )
    else:
        _print(blueprint, plan, blocks, trial, where, tricks(model), saved)
    return 0 if trial.good else 1


def _explain(blueprint: Blueprint, save: Path | None, as_json: bool) -> int:
    """Say why `blueprint` is possible or not; the exit code."""
    if save is not None:
        raise ZooError("--explain builds nothing that --save could keep: give one of them.")
    found = why(blueprint, get_registry())
    if as_json:
        print_json({"blueprint": blueprint.to_json(), **explanation_json(found)})
    else:
        click.echo(explanation_text(found))
    return 0 if found.possible else 1


def _plan(blueprint: Blueprint) -> Plan:
    """The plan that all after it read. Refuses what breaks a rule, before torch is imported: CombinationError."""
    try:
        return checked_plan(blueprint)
    except CombinationError as error:
        raise CombinationError(
            f"{error}\nRun the same command with --explain to list what would fit, axis by axis."
        ) from error


def _print(
    blueprint: Blueprint,
    plan: Plan,
    blocks: dict[str, int],
    trial: Trial,
    device: torch.device,
    tricks: list[str],
    saved: str | None,
) -> None:
    rows: list[tuple[str, str, str]] = []
    for axis, choice in blueprint.choices.items():
        if axis in plan.unused_axes:
            continue
        parts = zip(choice.layers, plan.pattern(axis), strict=True)
        for i, ((one, part), run) in enumerate(groupby(parts)):
            times = len(list(run))
            text = brief(axis, one) + (f"*{times}" if times > 1 else "")
            rows.append(("" if i else axis, f"+{text}" if i else text, part.variant.summary))
    click.echo(f"{bold('Assembly')}\n{columns(rows)}")
    sizes = [one.name for one in fields(Sizes) if one.name not in plan.unused_sizes]
    click.echo(wrapped(", ".join(f"{name} {getattr(blueprint.sizes, name)}" for name in sizes), "  "))
    total = sum(blocks.values())
    digits = len(f"{total:,}")
    counted = [(name, f"{count:,}".rjust(digits)) for name, count in {**blocks, "total": total}.items()]
    click.echo(f"\n{bold('Parameters')}\n{columns(counted, 0)}")
    facts = [
        ("output", f"{list(trial.output_shape)}"),
        ("loss", f"{trial.loss:.4f}"),
        ("gradient", _gradient(trial)),
        ("time", f"{trial.seconds:.3f} s on {device.type}"),
    ]
    click.echo(f"\n{bold('One forward and backward pass')}\n{columns(facts)}")
    if tricks:
        click.echo("\n" + wrapped(f"Accelerated: {'; '.join(tricks)}."))
    if saved is not None:
        click.echo(f"\nSaved in {saved}.")


def _gradient(trial: Trial) -> str:
    if trial.not_finite:
        return f"NOT finite in {_some(trial.not_finite)}"
    if trial.unreached:
        every = trial.reached + len(trial.unreached)
        return (
            f"finite, reached {trial.reached} of {every} parameter tensors; none at {_some(trial.unreached)}"
        )
    return f"finite, reached all {trial.reached} parameter tensors"


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
