"""`zoo diff AXIS A B`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from zoo.analysis.diff import (
    CHANGED,
    LEFT,
    RIGHT,
    SAME,
    Difference,
    Pair,
    Side,
    differences,
    side,
    side_by_side,
    standing,
    unified,
)
from zoo.cli.arguments import complete_axes, complete_names
from zoo.cli.options import json_option, size_options, sizes_from
from zoo.cli.text import GAP, WIDEST_OF_ALL, bold, colour, print_json, width, wrapped
from zoo.core.blueprint import Blueprint, Sizes, make_blueprint
from zoo.core.describe import brief, in_words, variant_json
from zoo.core.errors import ZooError
from zoo.core.plugins import get_registry

if TYPE_CHECKING:
    from zoo.analysis.parameter_summary import ParameterSummary

LEAST_WIDTH = 80  # below it, two columns of source are too narrow to read
DEEPER = "    "


class _CodeWrapper(textwrap.TextWrapper):
    """Breaks lines at spaces, after opening brackets, and after the dots between names."""

    wordsep_simple_re = re.compile(r"( +|(?<=\()(?=\S)|(?<=\w\.)(?=[A-Za-z_]))")


@click.command()
@click.argument("axis", metavar="AXIS", shell_complete=complete_axes)
@click.argument("a", metavar="A", shell_complete=complete_names)
@click.argument("b", metavar="B", shell_complete=complete_names)
@click.option(
    "--unified", "-u", "as_unified", is_flag=True, help="Print a unified diff instead of two columns."
)
@click.option("--no-source", is_flag=True, help="Omit the source.")
@size_options
@json_option
def diff(axis: str, a: str, b: str, as_unified: bool, no_source: bool, as_json: bool, **given: Any) -> None:
    """Compare two variants of an axis side by side.

    Prints their source in two columns (in terminals narrower than 80 characters, a unified diff); then what
    they declare differently (summary, formula, paper, capabilities, options), and their parameters in a model
    of the given sizes. Between the columns, | marks lines that differ, < and > lines that only one has. A and
    B are names, with options or without, or classes in files of your own (file.py:Class).

    \b
    Examples:
      zoo diff attention eager fused
      zoo diff norm post pre --no-source
      zoo diff attention eager gqa:num_kv_heads=2 --d-model 512 --num-heads 8
      zoo diff feedforward relu mine.py:FeedForward --unified
    """
    registry = get_registry()
    kind, base = registry.axis(axis), _small().with_sizes(**sizes_from(given))
    left, right = side(axis, a, base, registry), side(axis, b, base, registry)
    found = differences(kind, left, right)
    models = standing(axis, (a, b), base, registry)
    summaries = [_parameter_summary(axis, model) for model in models]
    if as_json:
        print_json(_record(axis, (left, right), found, summaries))
        return
    names = brief(axis, left.choice), brief(axis, right.choice)
    if left.variant.path == right.variant.path and left.choice == right.choice:
        click.echo(wrapped(f"{axis}={names[0]} and {axis}={names[1]} are the same: {left.place}."))
        return
    if not no_source:
        click.echo("\n".join(_sources(left, right, names, as_unified)) + "\n")
    alike = len({str(model.with_choices(registry, **{axis: kind.default})) for model in models}) == 1
    click.echo("\n\n".join(_tables(found, summaries, names, base.sizes, alike)))


def _small() -> Blueprint:
    """The model whose parameters are shown where no size is given."""
    return make_blueprint(
        d_model=64, num_heads=4, d_ff=256, num_encoder_layers=1, num_decoder_layers=1,
        src_vocab=100, tgt_vocab=100, max_len=32,
    )  # fmt: skip


def _parameter_summary(axis: str, model: Blueprint) -> ParameterSummary | str | None:
    """Return what the variant holds in a model, or why that is not known; None if it is no part of a model."""
    from zoo.analysis.parameter_summary import parameter_summary

    try:
        return parameter_summary(model, axis)
    except ZooError as error:
        return str(error)


def _record(
    axis: str,
    sides: Sequence[Side],
    found: Sequence[Difference],
    summaries: Sequence[ParameterSummary | str | None],
) -> dict[str, Any]:
    kind, (left, right) = get_registry().axis(axis), sides
    return {
        "axis": axis,
        **{
            name: {
                **variant_json(one.variant, kind),
                "choice": str(one.choice),
                "file": one.source.file,
                "line": one.source.line,
                "source": one.source.text,
                "parameters": holding if holding is None or isinstance(holding, str) else asdict(holding),
            }
            for name, one, holding in zip(("a", "b"), sides, summaries, strict=True)
        },
        "same_source": left.source.text == right.source.text,
        "differences": [one._asdict() for one in found],
        "unified": unified(left, right),
    }


def _sources(left: Side, right: Side, names: tuple[str, str], as_unified: bool) -> Iterator[str]:
    if left.source.text == right.source.text:
        yield wrapped(f"{bold('Source')}: the same, {left.place}")
        return
    room = width(WIDEST_OF_ALL)
    if as_unified or room < LEAST_WIDTH:
        yield _coloured("\n".join(unified(left, right)))
        return
    half = (room - len(GAP) - 1) // 2
    for texts in (names, (left.place, right.place)):
        yield from _cells(Pair(texts[0], SAME, texts[1]), half, texts is names)
    yield "-" * (2 * half + len(GAP) + 1)
    for pair in side_by_side(left.source.text, right.source.text):
        yield from _cells(pair, half)


def _cells(pair: Pair, half: int, title: bool = False) -> Iterator[str]:
    """A pair of lines as lines of the terminal; what is too long for its column goes on below, further in."""
    left, right = (_broken(text or "", half) for text in (pair.left, pair.right))
    for i in range(max(len(left), len(right))):
        one, other = (side[i] if i < len(side) else "" for side in (left, right))
        padded = one.ljust(half)
        if not colour():
            yield f"{padded} {pair.mark} {other}".rstrip()
            continue
        if title:
            padded, other = bold(padded), bold(other)
        if pair.mark in (LEFT, CHANGED):
            padded = click.style(padded, fg="red")
        if pair.mark in (RIGHT, CHANGED):
            other = click.style(other, fg="green")
        yield f"{padded} {pair.mark} {other}"


def _broken(line: str, half: int) -> list[str]:
    """`line` in pieces of at most `half` columns."""
    line = line.expandtabs(4)
    indent = line[: len(line) - len(line.lstrip())][: half // 2]
    wrapper = _CodeWrapper(half, initial_indent=indent, subsequent_indent=indent + DEEPER)
    wrapper.break_on_hyphens = False
    return wrapper.wrap(line.strip()) or [""]


def _coloured(diff: str) -> str:
    """A unified diff in colour, where there is colour."""
    if not colour():
        return diff
    import pygments
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import DiffLexer

    return pygments.highlight(diff, DiffLexer(), TerminalFormatter()).rstrip("\n")


def _tables(
    found: Sequence[Difference],
    summaries: Sequence[ParameterSummary | str | None],
    names: tuple[str, str],
    sizes: Sizes,
    alike: bool,
) -> Iterator[str]:
    """Return different declarations and parameters; `alike` if their models are otherwise the same."""
    if found:
        rows = [(one.name.replace("_", " "), _word(one.left), _word(one.right)) for one in found]
        yield f"{bold('What they declare differently')}\n{_table(names, rows)}"
    else:
        yield "They declare the same: formula, paper, capabilities, options."
    left, right = summaries
    reasons = [
        f"The parameters of {name} are not known: {one}"
        for name, one in zip(names, summaries, strict=True)
        if isinstance(one, str)
    ]
    if reasons:
        yield "\n".join(map(wrapped, reasons))
    elif left is not None and right is not None:
        assert not isinstance(left, str)
        assert not isinstance(right, str)
        yield _parameters(left, right, names, sizes, alike)


def _parameters(
    left: ParameterSummary, right: ParameterSummary, names: tuple[str, str], sizes: Sizes, alike: bool
) -> str:
    every = dict.fromkeys([*left.shapes, *right.shapes])
    changed = [name for name in every if left.shapes.get(name) != right.shapes.get(name)]
    same = [name for name in every if name not in changed]
    rows = [(name, _shape(left.shapes.get(name)), _shape(right.shapes.get(name))) for name in changed]
    rows.append(("trainable parameters", f"{left.parameters:,}", f"{right.parameters:,}"))
    if alike:
        rows.append(("in the whole model", f"{left.of_model:,}", f"{right.of_model:,}"))
    title = (
        f"Parameters (d_model {sizes.d_model}, {sizes.num_heads} heads, d_ff {sizes.d_ff}, "
        f"{sizes.num_encoder_layers}+{sizes.num_decoder_layers} layers)"
    )
    shared = f"\n{wrapped('the same in both: ' + ', '.join(same), GAP)}" if same else ""
    return f"{bold(title)}\n{_table(names, rows)}{shared}"


def _table(names: tuple[str, str], rows: Sequence[tuple[str, str, str]]) -> str:
    """Rows of a name and two texts, both wrapped so that all fits the terminal."""
    first = max(len(name) for name, _, _ in rows)
    room = width() - first - 3 * len(GAP)
    longest = max(len(one) for one in (names[0], *(row[1] for row in rows)))
    half = min(longest, room // 2)
    lines = []
    for name, *texts in (("", *names), *rows):
        cells = [
            textwrap.wrap(text, size, break_on_hyphens=False)
            for text, size in zip(texts, (half, room - half), strict=True)
        ]
        for i, (one, other) in enumerate(zip_longest(*cells, fillvalue="")):
            lines.append(GAP.join(("", ("" if i else name).ljust(first), one.ljust(half), other)).rstrip())
    return "\n".join(lines)


def _word(value: object) -> str:
    return "-" if value is None else in_words(value)


def _shape(shape: tuple[int, ...] | None) -> str:
    return "-" if shape is None else str(list(shape))
