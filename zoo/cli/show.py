"""`zoo show AXIS NAME`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from zoo.cli.arguments import PRESET, complete_axes_and_preset, complete_names
from zoo.cli.options import json_option
from zoo.cli.text import bold, colour, columns, print_json, reflowed, wrapped
from zoo.core.blueprint import Choice, Preset, choose, get_preset, get_presets, layer_kinds
from zoo.core.describe import brief, in_words, preset_json, typed, variant_json
from zoo.core.errors import ZooError, unknown_name
from zoo.core.pattern import name_layers, split_pattern
from zoo.core.plan import plan_part
from zoo.core.plugins import DEFAULT_PLUGINS, get_registry
from zoo.core.registry import FILE_SPEC, Axis, Option
from zoo.core.source import find_source


@click.command()
@click.argument("axis", metavar="[AXIS]", required=False, shell_complete=complete_axes_and_preset)
@click.argument("name", metavar="NAME", required=False, shell_complete=complete_names)
@click.option("--no-source", is_flag=True, help="Omit the source.")
@json_option
def show(axis: str | None, name: str | None, no_source: bool, as_json: bool) -> None:
    """Show a variant in full, with its source, or a preset.

    Prints its summary, formula, shapes, paper, capabilities, options, documentation and source. NAME may have
    options, and may be a class in a file of your own, file.py:Class, or one variant per layer, NAME*3+NAME.
    AXIS may be omitted if only one axis has NAME. Nothing is imported: the source is read. `zoo show preset
    NAME` shows a preset: where it comes from, its choices and sizes, how it trains, and notes.

    \b
    Examples:
      zoo show attention fused
      zoo show rotary
      zoo show norm pre --no-source
      zoo show attention exercises/attention.py:MultiHeadAttention
      zoo show attention sliding:window=64*3+eager
      zoo show preset vaswani2017
    """
    if axis is None:
        raise click.UsageError("Missing argument 'NAME'.")
    if name is None:
        axis, name = _axis_of(axis), axis
    if axis == PRESET:
        preset = get_preset(name)
        if as_json:
            print_json(preset_json(preset))
        else:
            click.echo(_preset_page(preset))
        return
    registry = get_registry()
    if axis not in (names := [one.name for one in registry.axes]):
        raise unknown_name("axis", axis, [*names, PRESET], "zoo list")
    kind, choice = registry.axis(axis), choose(registry, axis, name)
    kinds = [(one, layers) for (one,), layers in layer_kinds(choice)]
    if as_json:
        records = [_record(one, kind, no_source) for one, _ in kinds]
        for record, (_, layers) in zip(records, kinds if choice.then else (), strict=False):
            record["layers"] = layers
        whole = {"axis": axis, "choice": str(choice), "variants": records}
        print_json(whole if choice.then else records[0])
        return
    pages = [_page(one, kind, no_source) for one, _ in kinds]
    if choice.then:
        each = [f"{name_layers(layers)}: {brief(axis, one)}" for one, layers in kinds]
        title = bold(f"{axis} {brief(axis, choice)}")
        pages.insert(
            0, "\n".join([f"{title} (repeated after layer {len(choice.layers)})", *map(wrapped, each)])
        )
    click.echo("\n\n".join(pages))


def _record(choice: Choice, kind: Axis, no_source: bool) -> dict[str, Any]:
    variant = plan_part(kind.name, choice).variant
    source = find_source(variant)
    found = {"file": source.file, "line": source.line, "docstring": source.docstring}
    found |= {} if no_source else {"source": source.text}
    return {**variant_json(variant, kind), "choice": str(choice), "interface": kind.interface, **found}


def _axis_of(name: str) -> str:
    """The one axis that has a variant called `name`, or `preset`. Raises ZooError if there is none, or several."""
    registry, typed = get_registry(), shlex.quote(name)
    if name == PRESET or name in (one.name for one in registry.axes):
        several = "presets" if name == PRESET else name
        raise ZooError(f"Missing NAME: `zoo show {name} NAME`. `zoo list {several}` lists them all.")
    if FILE_SPEC.match(name):
        raise ZooError(f"'{name}': for a class in a file name its axis, as in `zoo show attention {typed}`.")
    if Path(name, "zoo.json").is_file():
        raise ZooError(f"'{name}' is a saved model. `zoo export {typed} -o model.py` writes its code.")
    names = {one.partition(":")[0] for one in split_pattern(name)}
    known = {axis.name: {one.name for one in registry.variants(axis.name)} for axis in registry.axes}
    known[PRESET] = set(get_presets())
    found = [axis for axis, those in known.items() if names <= those]
    every = set().union(*known.values())
    for one in sorted(names - every):
        raise unknown_name("variant or preset", one, every, "zoo list")
    if not found:
        raise ZooError(
            f"'{name}': no axis has all of {', '.join(sorted(names))}. `zoo list` shows what each has."
        )
    if len(found) > 1:
        ways = ", ".join(f"`zoo show {axis} {typed}`" for axis in found)
        raise ZooError(f"There are {len(found)} parts called '{name}': {ways}.")
    return found[0]


def _page(choice: Choice, axis: Axis, no_source: bool) -> str:
    variant = plan_part(axis.name, choice).variant
    source = find_source(variant)
    origin = "built in" if variant.origin in DEFAULT_PLUGINS else f"from {variant.origin}"
    blocks = [f"{bold(f'{axis.name} {variant.name}')} ({origin})\n{wrapped(variant.summary)}"]
    facts = [("Formula", variant.formula), ("Paper", variant.paper), ("Interface", axis.interface)]
    blocks += [f"{bold(title)}\n{wrapped(text, '  ')}" for title, text in facts if text]
    able = [
        (c.name.replace("_", " "), in_words(variant.capabilities[c.name]), c.help) for c in axis.capabilities
    ]
    if able and not variant.is_file:
        blocks.append(f"{bold('Capabilities')}\n{columns(able)}")
    if variant.options:
        options = [
            (one.name, f"{one.help} ({_values(one, choice.options[one.name])})") for one in variant.options
        ]
        first = next((one for one in variant.options if one.default is not None), variant.options[0])
        use = f"{variant.name}:{first.name}={'...' if first.default is None else typed(first.default)}"
        blocks.append(f"{bold('Options')} (--{axis.name}={use})\n{columns(options)}")
    if source.docstring:
        blocks.append(f"{bold('Documentation')}\n{reflowed(source.docstring, '  ')}")
    if not no_source:
        blocks.append(f"{bold('Source')}: {source.file}:{source.line}\n\n{highlighted(source.text)}")
    return "\n\n".join(blocks)


def _values(option: Option, chosen: object) -> str:
    default = "" if option.default is None else f", default {typed(option.default)}"
    return option.expected + default + ("" if chosen == option.default else f"; here {typed(chosen)}")


def _preset_page(preset: Preset) -> str:
    blocks = [f"{bold(f'preset {preset.name}')}\n{wrapped(preset.summary)}"]
    if preset.source:
        blocks.append(f"{bold('Source')}\n{wrapped(preset.source, '  ')}")
    for title, facts in (
        ("Choices", preset.choices),
        ("Sizes", preset.sizes),
        ("Training", preset.recipe),
        *((f"Training with --task={task}", settings) for task, settings in preset.tasks.items()),
        ("Corrected (--corrected)", preset.corrected),
    ):
        if facts:
            rows = [(name, in_words(value)) for name, value in facts.items()]
            blocks.append(f"{bold(title)}\n{columns(rows)}")
    if preset.notes:
        blocks.append(f"{bold('Notes')}\n{columns([('-', note) for note in preset.notes])}")
    blocks.append(wrapped(f"Everything else has its default. Try `zoo build --preset {preset.name}`."))
    return "\n\n".join(blocks)


def highlighted(source: str) -> str:
    """`source` in colour, where there is colour."""
    if not colour():
        return source
    import pygments
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import PythonLexer

    return pygments.highlight(source, PythonLexer(), TerminalFormatter()).rstrip("\n")
