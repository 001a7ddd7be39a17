"""`zoo show AXIS NAME`."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from zoo.cli.describe import in_words, variant_json
from zoo.cli.options import VariantType, json_option
from zoo.cli.text import bold, colour, columns, print_json, reflowed, wrapped
from zoo.errors import ZooError
from zoo.plugins import DEFAULT_PLUGINS, get_registry
from zoo.registry import Axis, Option, Variant
from zoo.source import Source, find_source


def _axes(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(axis.name, help=axis.summary)
        for axis in get_registry().axes
        if axis.name.startswith(incomplete)
    ]


def _variants(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    axis = str(ctx.params.get("axis"))
    known = [one.name for one in get_registry().axes]
    return VariantType(axis).shell_complete(ctx, param, incomplete) if axis in known else []


@click.command()
@click.argument("axis", metavar="AXIS", shell_complete=_axes)
@click.argument("name", metavar="NAME", shell_complete=_variants)
@click.option("--no-source", is_flag=True, help="Leave the source out.")
@json_option
def show(axis: str, name: str, no_source: bool, as_json: bool) -> None:
    """One variant in full, with its source.

    Summary, formula, shapes, paper, capabilities, options, documentation, source. NAME may be a class in
    a file of your own, file.py:Class. Nothing is imported: the source is read.

    \b
    Examples:
      zoo show attention fused
      zoo show norm pre --no-source
      zoo show attention exercises/attention.py:MultiHeadAttention
    """
    registry = get_registry()
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
        click.echo(_highlighted(source.text))


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
        options = [(option.name, _values(option), option.help) for option in variant.options]
        use = f"{variant.name}:{variant.options[0].name}={_typed(variant.options[0].default)}"
        blocks.append(f"{bold('Options')} (--{axis.name}={use})\n{columns(options)}")
    if source.docstring:
        blocks.append(f"{bold('Documentation')}\n{reflowed(source.docstring, '  ')}")
    return "\n\n".join(blocks)


def _typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _values(option: Option) -> str:
    return f"{option.expected}, default {_typed(option.default)}"


def _highlighted(source: str) -> str:
    """`source` in colour, where there is colour."""
    if not colour():
        return source
    import pygments
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import PythonLexer

    return pygments.highlight(source, PythonLexer(), TerminalFormatter()).rstrip("\n")
