"""`zoo diff AXIS A B`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, cast

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
from zoo.core.blueprint import Blueprint, Choice, Sizes, choose, layer_kinds, make_blueprint
from zoo.core.describe import brief, in_words, variant_json
from zoo.core.errors import ZooError
from zoo.core.pattern import name_layers
from zoo.core.plugins import get_registry

if TYPE_CHECKING:
    from zoo.analysis.parameter_summary import ParameterSummary

LEAST_WIDTH = 80  # below it, two columns of source are too narrow to read
DEEPER = "    "
MOST_LAYERS = 64  # of the model whose parameters are counted where layers differ


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
    B are names, with options or without, classes in files of your own (file.py:Class), or one variant per
    layer (NAME*3+NAME): then the variants of each layer are compared.

    \b
    Examples:
      zoo diff attention eager fused
      zoo diff norm post pre --no-source
      zoo diff attention eager gqa:num_kv_heads=2 --d-model 512 --num-heads 8
      zoo diff feedforward relu mine.py:FeedForward --unified
      zoo diff attention sliding:window=64*3+eager eager --no-source
    """
    chosen = [choose(get_registry(), axis, text) for text in (a, b)]
    base = _small().with_sizes(**(sizes := sizes_from(given)))
    kinds = [(_compared(axis, pair, base), layers) for pair, layers in layer_kinds(*chosen)]
    if len(kinds) == 1:
        one, _ = kinds[0]
        print_json(_record(one)) if as_json else click.echo(_page(one, base.sizes, as_unified, no_source))
        return
    period = sum(len(numbers) for _, numbers in kinds)
    layers = min(MOST_LAYERS, period)
    deep = base.with_sizes(**{"num_encoder_layers": layers, "num_decoder_layers": layers, **sizes})
    whole = _compared(axis, chosen, deep)
    if as_json:
        records = [{"layers": numbers, **_record(one)} for one, numbers in kinds]
        print_json({"axis": axis, "a": str(chosen[0]), "b": str(chosen[1]), "kinds": records})
        return
    if whole.same:
        click.echo(wrapped(f"{axis}={whole.names[0]} and {axis}={whole.names[1]} are the same."))
        return
    rows = [(name_layers(numbers), *one.names) for one, numbers in kinds]
    click.echo(f"{bold('Layers')} (repeated after layer {period})\n{_table(whole.names, rows)}")
    for one, numbers in kinds:
        if not one.same:
            title = bold(f"{name_layers(numbers)}: {' and '.join(one.names)}")
            click.echo(f"\n{title}\n\n{_page(one, base.sizes, as_unified, no_source)}")
    click.echo("\n" + _of_models(whole, deep.sizes))


@dataclass(frozen=True)
class _Comparison:
    """Two variants, what they declare differently, and what they hold in a model each; None: no part of one."""

    axis: str
    sides: tuple[Side, Side]
    found: Sequence[Difference]
    models: Sequence[Blueprint]
    summaries: Sequence[ParameterSummary | str | None]

    @property
    def names(self) -> tuple[str, str]:
        left, right = self.sides
        return brief(self.axis, left.choice), brief(self.axis, right.choice)

    @property
    def same(self) -> bool:
        left, right = self.sides
        return left.variant.path == right.variant.path and left.choice == right.choice

    @property
    def alike(self) -> bool:
        """Return whether the models are the same but for this axis."""
        registry = get_registry()
        default = registry.axis(self.axis).default
        return len({str(one.with_choices(registry, **{self.axis: default})) for one in self.models}) == 1


def _compared(axis: str, choices: Sequence[Choice], base: Blueprint) -> _Comparison:
    registry = get_registry()
    left, right = (side(axis, one, registry) for one in choices)
    models = standing(axis, [str(one) for one in choices], base, registry)
    summaries = [_parameter_summary(axis, model) for model in models]
    return _Comparison(axis, (left, right), differences(registry.axis(axis), left, right), models, summaries)


def _page(one: _Comparison, sizes: Sizes, as_unified: bool, no_source: bool) -> str:
    """Sources, unless `no_source`, and tables; one sentence if both are the same."""
    (left, right), names = one.sides, one.names
    if one.same:
        return wrapped(f"{one.axis}={names[0]} and {one.axis}={names[1]} are the same: {left.place}.")
    sources = [] if no_source else ["\n".join(_sources(left, right, names, as_unified))]
    return "\n\n".join([*sources, *_tables(one, sizes)])


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


def _record(one: _Comparison) -> dict[str, Any]:
    kind, (left, right) = get_registry().axis(one.axis), one.sides
    return {
        "axis": one.axis,
        **{
            name: {
                **variant_json(each.variant, kind),
                "choice": str(each.choice),
                "file": each.source.file,
                "line": each.source.line,
                "source": each.source.text,
                "parameters": holding if holding is None or isinstance(holding, str) else asdict(holding),
            }
            for name, each, holding in zip(("a", "b"), one.sides, one.summaries, strict=True)
        },
        "same_source": left.source.text == right.source.text,
        "differences": [each._asdict() for each in one.found],
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


def _tables(one: _Comparison, sizes: Sizes) -> Iterator[str]:
    """Return different declarations and parameters."""
    names = one.names
    if one.found:
        rows = [(each.name.replace("_", " "), _word(each.left), _word(each.right)) for each in one.found]
        yield f"{bold('What they declare differently')}\n{_table(names, rows)}"
    else:
        yield "They declare the same: formula, paper, capabilities, options."
    if reasons := _reasons(one):
        yield reasons
    elif None not in one.summaries:
        left, right = cast("Sequence[ParameterSummary]", one.summaries)
        yield _parameters(left, right, names, sizes, one.alike)


def _reasons(one: _Comparison) -> str:
    """Return why parameters are not known; "" if they are."""
    return "\n".join(
        wrapped(f"The parameters of {name} are not known: {reason}")
        for name, reason in zip(one.names, one.summaries, strict=True)
        if isinstance(reason, str)
    )


def _of_models(one: _Comparison, sizes: Sizes) -> str:
    """Trainable parameters of two models whose layers differ."""
    if reasons := _reasons(one):
        return reasons
    left, right = cast("Sequence[ParameterSummary]", one.summaries)
    row = ("in the whole model", f"{left.of_model:,}", f"{right.of_model:,}")
    return f"{bold(_title(sizes))}\n{_table(one.names, [row])}"


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
    shared = f"\n{wrapped('the same in both: ' + ', '.join(same), GAP)}" if same else ""
    return f"{bold(_title(sizes))}\n{_table(names, rows)}{shared}"


def _title(sizes: Sizes) -> str:
    return (
        f"Parameters (d_model {sizes.d_model}, {sizes.num_heads} heads, d_ff {sizes.d_ff}, "
        f"{sizes.num_encoder_layers}+{sizes.num_decoder_layers} layers)"
    )


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
