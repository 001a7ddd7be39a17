"""`zoo list`."""

from __future__ import annotations

import fnmatch
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

import click
from click.shell_completion import CompletionItem

from zoo.cli.options import html_option, json_option
from zoo.cli.text import GAP, bold, columns, dim, print_json, width, wrapped
from zoo.core.blueprint import get_presets
from zoo.core.describe import options_text, preset_json, remarkable, task_json, variant_json
from zoo.core.errors import UnknownNameError, ZooError, unknown_name
from zoo.core.plugins import DEFAULT_PLUGINS, get_registry
from zoo.core.registry import Axis, Variant
from zoo.core.tasks import get_tasks

MOST_JOBS = 4
"""Processes that draw the pictures of a page; each takes some 400 MB."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...


N = TypeVar("N", bound=_Named)


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    known = {axis.name: axis.summary for axis in get_registry().axes}
    known |= {"presets": "named blueprints", "tasks": "what to train on"}
    return [CompletionItem(name, help=text) for name, text in known.items() if name.startswith(incomplete)]


@click.command("list")
@click.argument("what", metavar="[AXIS|presets|tasks]", required=False, shell_complete=_complete)
@click.option(
    "--like", metavar="PATTERN", multiple=True, help="List only matching names; * and ? are wildcards."
)
@click.option(
    "--unlike", metavar="PATTERN", multiple=True, help="Exclude matching names; may be repeated, like --like."
)
@click.option("--long", "-l", "more", is_flag=True, help="Include capabilities, options and paper.")
@html_option("Write a page of the variants to FILE: formula, picture, source, paper, options, capabilities.")
@json_option
def list_(
    what: str | None, like: Sequence[str], unlike: Sequence[str], more: bool, html: Path | None, as_json: bool
) -> None:
    """List variants by axis, presets and tasks.

    A star marks the default of its axis. With --long, a line below lists the capabilities of a
    variant that differ from the default of its axis. PATTERN is compared with the name, and with AXIS/NAME.

    \b
    Examples:
      zoo list
      zoo list attention --long
      zoo list --like '*post' --like 'head/*' --unlike 'res*' --json
      zoo list presets
      zoo list --html variants.html
    """
    if html is not None and (as_json or what in ("presets", "tasks")):
        raise ZooError("--html writes a page of variants: omit --json, presets and tasks.")
    if what == "presets":
        presets = _matching(get_presets().values(), like, unlike, as_json)
        _named(presets, preset_json, lambda preset: preset.source, more, as_json)
    elif what == "tasks":
        tasks = _matching(get_tasks().values(), like, unlike, as_json)
        _named(tasks, task_json, lambda _: "", more, as_json)
    else:
        variants = _matching(_known(what), like, unlike, as_json)
        if html is not None:
            _page(html, variants)
        else:
            _variants(variants, more, as_json)


def _variants(variants: Sequence[Variant], more: bool, as_json: bool) -> None:
    """List variants by axis."""
    registry = get_registry()
    if as_json:
        print_json([variant_json(variant, registry.axis(variant.axis)) for variant in variants])
        return
    blocks = []
    for axis in registry.axes:
        found = [variant for variant in variants if variant.axis == axis.name]
        if found:
            rows = [(_marked(one, axis), _summary(one), _details(one, axis) if more else ()) for one in found]
            blocks.append(f"{bold(axis.name)}: {axis.summary}\n{_entries(rows)}")
    click.echo("\n\n".join(blocks))


def _known(what: str | None) -> list[Variant]:
    """The variants of an axis, or of all. Raises UnknownNameError."""
    registry = get_registry()
    names = [axis.name for axis in registry.axes]
    if what is not None and what not in names:
        raise unknown_name("axis", what, [*names, "presets", "tasks"], "zoo list")
    return registry.variants(what)


def _page(path: Path, variants: Sequence[Variant]) -> None:
    """Write the page of these variants."""
    from tqdm import tqdm

    from zoo.pages.gallery import gallery
    from zoo.pages.rendering import write

    with tqdm(total=len(variants), leave=False, disable=not sys.stderr.isatty(), unit="") as bar:
        page = gallery(variants, bar.update, jobs=min(MOST_JOBS, os.cpu_count() or 1))
    write(path, page)
    click.echo(wrapped(f"Wrote {path}."))


def _named(
    found: Sequence[N], to_json: Callable[[N], object], detail: Callable[[N], str], more: bool, as_json: bool
) -> None:
    """List presets or tasks."""
    if as_json:
        print_json([to_json(one) for one in found])
        return
    rows = [(one.name, one.summary, [text for text in (detail(one),) if more and text]) for one in found]
    click.echo(_entries(rows))


def _matching(found: Iterable[N], like: Sequence[str], unlike: Sequence[str], none_allowed: bool) -> list[N]:
    """Those that match one of `like`, if there are any, and none of `unlike`.

    Raises UnknownNameError if there is none, and that is not allowed.
    """

    def matches(one: N, patterns: Sequence[str]) -> bool:
        full = f"{one.axis}/{one.name}" if isinstance(one, Variant) else one.name
        return any(fnmatch.fnmatch(name, pattern) for name in (one.name, full) for pattern in patterns)

    left = [one for one in found if (not like or matches(one, like)) and not matches(one, unlike)]
    if not left and not none_allowed:
        patterns = [f"--like '{one}'" for one in like] + [f"--unlike '{one}'" for one in unlike]
        raise UnknownNameError(f"No name matches {' '.join(patterns)}. `zoo list` lists all names.")
    return left


def _marked(variant: Variant, axis: Axis) -> str:
    return variant.name + (" *" if variant.name == axis.default else "")


def _summary(variant: Variant) -> str:
    return variant.summary + ("" if variant.origin in DEFAULT_PLUGINS else f" [plugin {variant.origin}]")


def _details(variant: Variant, axis: Axis) -> list[str]:
    """Return what --long adds: capabilities, options, paper."""
    facts = (remarkable(variant, axis), options_text(variant), variant.paper)
    return [text for text in facts if text]


def _entries(rows: Sequence[tuple[str, str, Sequence[str]]]) -> str:
    """A line for each name and summary, and dim lines below, under the summaries."""
    size = max((len(name) for name, _, _ in rows), default=0)
    indent = GAP + " " * size + GAP
    lines = []
    for name, summary, details in rows:
        lines.append(columns([(name, summary)], 1, (size, 0)))
        for text in details:
            below = textwrap.wrap(text, width() - len(indent), break_on_hyphens=False)
            lines.append(textwrap.indent(dim("\n".join(below)), indent))
    return "\n".join(lines)
