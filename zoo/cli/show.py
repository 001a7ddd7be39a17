"""`zoo show AXIS NAME`."""

from __future__ import annotations

import click

from zoo.cli.arguments import PRESET, complete_axes_and_preset, complete_names
from zoo.cli.options import json_option
from zoo.cli.text import bold, colour, columns, print_json, reflowed, wrapped
from zoo.core.blueprint import Preset, get_preset, get_presets
from zoo.core.describe import in_words, preset_json, typed, variant_json
from zoo.core.errors import ZooError, unknown_name
from zoo.core.plugins import DEFAULT_PLUGINS, get_registry
from zoo.core.registry import FILE_SPEC, Axis, Option, Variant
from zoo.core.source import Source, find_source


@click.command()
@click.argument("axis", metavar="[AXIS]", required=False, shell_complete=complete_axes_and_preset)
@click.argument("name", metavar="NAME", required=False, shell_complete=complete_names)
@click.option("--no-source", is_flag=True, help="Omit the source.")
@json_option
def show(axis: str | None, name: str | None, no_source: bool, as_json: bool) -> None:
    """Show a variant in full, with its source, or a preset.

    Prints its summary, formula, shapes, paper, capabilities, options, documentation and source. NAME may be a
    class in a file of your own, file.py:Class. AXIS may be omitted if only one axis has NAME. Nothing is
    imported: the source is read. `zoo show preset NAME` shows a preset: where it comes from, its choices and
    sizes, how it trains, and notes.

    \b
    Examples:
      zoo show attention fused
      zoo show rotary
      zoo show norm pre --no-source
      zoo show attention exercises/attention.py:MultiHeadAttention
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
    variant, given = registry.resolve(axis, name)
    if given:
        raise ZooError(f"'{name}': expected a name without options, such as {variant.name}.")
    kind, source = registry.axis(axis), find_source(variant)
    if as_json:
        found = {"file": source.file, "line": source.line, "docstring": source.docstring}
        found |= {} if no_source else {"source": source.text}
        print_json({**variant_json(variant, kind), "interface": kind.interface, **found})
        return
    click.echo(_page(variant, kind, source))
    if not no_source:
        click.echo(f"\n{bold('Source')}: {source.file}:{source.line}\n")
        click.echo(highlighted(source.text))


def _axis_of(name: str) -> str:
    """The one axis that has a variant called `name`, or `preset`. Raises ZooError if there is none, or several."""
    registry = get_registry()
    if name == PRESET or name in (one.name for one in registry.axes):
        several = "presets" if name == PRESET else name
        raise ZooError(f"Name a variant: `zoo show {name} NAME`. `zoo list {several}` lists them all.")
    if FILE_SPEC.match(name):
        raise ZooError(f"'{name}': for a class in a file name its axis, as in `zoo show attention {name}`.")
    name = name.partition(":")[0]  # options are refused later
    found = [one.axis for one in registry.variants() if one.name == name] + [PRESET] * (name in get_presets())
    if not found:
        known = {*(one.name for one in registry.variants()), *get_presets()}
        raise unknown_name("variant or preset", name, known, "zoo list")
    if len(found) > 1:
        ways = ", ".join(f"`zoo show {axis} {name}`" for axis in found)
        raise ZooError(f"There are {len(found)} parts called '{name}': {ways}.")
    return found[0]


def _page(variant: Variant, axis: Axis, source: Source) -> str:
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
        options = [(option.name, f"{option.help} ({_values(option)})") for option in variant.options]
        use = f"{variant.name}:{variant.options[0].name}={typed(variant.options[0].default)}"
        blocks.append(f"{bold('Options')} (--{axis.name}={use})\n{columns(options)}")
    if source.docstring:
        blocks.append(f"{bold('Documentation')}\n{reflowed(source.docstring, '  ')}")
    return "\n\n".join(blocks)


def _values(option: Option) -> str:
    return option.expected + ("" if option.default is None else f", default {typed(option.default)}")


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
