"""`zoo list`."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from zoo.blueprint import get_presets
from zoo.cli.describe import preset_json, remarkable, task_json, variant_json
from zoo.cli.options import json_option
from zoo.cli.text import bold, columns, print_json
from zoo.errors import unknown_name
from zoo.plugins import DEFAULT_PLUGINS, get_registry
from zoo.registry import Axis, Variant
from zoo.tasks import get_tasks


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    known = {axis.name: axis.summary for axis in get_registry().axes}
    known |= {"presets": "named blueprints", "tasks": "what to train on"}
    return [CompletionItem(name, help=text) for name, text in known.items() if name.startswith(incomplete)]


@click.command("list")
@click.argument("what", metavar="[AXIS|presets|tasks]", required=False, shell_complete=_complete)
@click.option("--like", metavar="PATTERN", help="Only names that match; * and ? are wildcards.")
@json_option
def list_(what: str | None, like: str | None, as_json: bool) -> None:
    """What there is: variants by axis, presets, tasks.

    A star marks the default of its axis. The last column says what a variant can do beyond what its axis
    takes for granted. PATTERN is compared with the name, and with AXIS/NAME.

    \b
    Examples:
      zoo list
      zoo list attention
      zoo list --like '*post' --json
      zoo list presets
    """
    if what in ("presets", "tasks"):
        _named(what, like, as_json)
        return
    registry = get_registry()
    names = [axis.name for axis in registry.axes]
    if what is not None and what not in names:
        raise unknown_name("axis", what, [*names, "presets", "tasks"], "zoo list")
    variants = registry.variants(what, like)
    if as_json:
        print_json([variant_json(variant, registry.axis(variant.axis)) for variant in variants])
    elif variants:
        axes = [axis for axis in registry.axes if any(v.axis == axis.name for v in variants)]
        click.echo(_table(axes, variants))
    else:
        _nothing(like)


def _table(axes: Sequence[Axis], variants: Sequence[Variant]) -> str:
    name_width = max(len(variant.name) for variant in variants) + len(" *")
    blocks = []
    for axis in axes:
        rows = [_row(variant, axis) for variant in variants if variant.axis == axis.name]
        blocks.append(f"{bold(axis.name)}: {axis.summary}\n{columns(rows, 1, (name_width, 0, 0))}")
    return "\n\n".join(blocks)


def _row(variant: Variant, axis: Axis) -> tuple[str, str, str]:
    mark = " *" if variant.name == axis.default else ""
    origin = "" if variant.origin in DEFAULT_PLUGINS else f" [plugin {variant.origin}]"
    return variant.name + mark, variant.summary + origin, remarkable(variant, axis)


def _named(what: str, like: str | None, as_json: bool) -> None:
    """List presets or tasks."""
    presets = [preset for preset in get_presets().values() if fnmatch.fnmatch(preset.name, like or "*")]
    tasks = [task for task in get_tasks().values() if fnmatch.fnmatch(task.name, like or "*")]
    if as_json:
        print_json(list(map(preset_json, presets)) if what == "presets" else list(map(task_json, tasks)))
        return
    rows = [(one.name, one.summary) for one in (presets if what == "presets" else tasks)]
    if rows:
        click.echo(columns(rows))
    else:
        _nothing(like)


def _nothing(like: str | None) -> None:
    click.echo(f"No name is like '{like}'." if like is not None else "There is none.", err=True)
