"""`zoo check`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from zoo.cli.options import json_option
from zoo.cli.text import bold, columns, print_json, wrapped
from zoo.core.plugins import get_registry

if TYPE_CHECKING:
    from zoo.analysis.checks.base import Finding
    from zoo.analysis.checks.part import Part

    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType  # generic for type checkers only, before click 8.5


class PartType(_TextType):
    """A part as it is typed: "axis/name", "name", "file.py:Class"; it only completes."""

    name = "part"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Variants whose name or axis begins so, and files."""
        names = [(f"{v.axis}/{v.name}", v) for v in get_registry().variants()]
        found = [
            CompletionItem(name, help=v.summary)
            for name, v in names
            if name.startswith(incomplete) or v.name.startswith(incomplete)
        ]
        return [CompletionItem(incomplete, type="file"), *found]


def _axes(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(axis.name, help=axis.summary)
        for axis in get_registry().axes
        if axis.name.startswith(incomplete)
    ]


@click.command()
@click.argument("part", metavar="FILE_OR_NAME", type=PartType())
@click.option("--axis", metavar="AXIS", shell_complete=_axes, help="Axis of a class in a file.")
@click.option("--failed", is_flag=True, help="Show only failed properties.")
@json_option
@click.pass_context
def check(ctx: click.Context, part: str, axis: str | None, failed: bool, as_json: bool) -> None:
    """Check that a part satisfies the properties of its axis.

    FILE_OR_NAME is a variant (attention/fused, or fused if that is unique; options after a colon), or a class in a
    file (file.py:Class), whose axis is inferred from its signature. Which properties apply depends on what a
    variant declares (`zoo show`); a class in a file declares nothing. Exit code 1 if a property failed.

    \b
    Examples:
      zoo check fused
      zoo check attention/eager:bias=false --failed
      zoo check exercises/attention.py:MultiHeadAttention
      zoo check mine.py:Mine --axis=norm-type --json
    """
    from zoo.analysis.checks.base import FAILS
    from zoo.analysis.checks.run import check as look
    from zoo.analysis.checks.which import find

    with redirect_stdout(sys.stderr):  # what the part prints is not what we say
        found = find(get_registry(), part, axis)
        findings = look(found)
    good = all(one.status != FAILS for one in findings)
    shown = [one for one in findings if one.status == FAILS] if failed else findings
    if as_json:
        print_json(_record(found, shown, good))
    else:
        _print(found, findings, shown)
    ctx.exit(0 if good else 1)


def _record(part: Part, findings: Sequence[Finding], good: bool) -> dict[str, Any]:
    return {
        "axis": part.axis,
        "name": part.text,
        "path": part.variant.path,
        "good": good,
        "properties": [{"title": one.title, "status": one.status, "reason": one.reason} for one in findings],
    }


def _print(part: Part, findings: Sequence[Finding], shown: Sequence[Finding]) -> None:
    from zoo.analysis.checks.base import UNMADE

    rows: list[tuple[str, str]] = []
    for one in shown:
        if one.reason != UNMADE:
            rows.append((one.status, one.title))
        if one.reason and one.reason != UNMADE:
            rows.append(("", f"-> {one.reason}"))
    if rows:
        click.echo(f"{bold(part.name)}, on the axis {part.axis}\n{columns(rows)}\n")
    click.echo(wrapped(_summary(findings)))


def _summary(findings: Sequence[Finding]) -> str:
    """Return the last line: "31 ok, 3 not applicable."."""
    from zoo.analysis.checks.base import FAILS, HOLDS, UNMADE

    unseen = sum(one.reason == UNMADE for one in findings)
    if unseen:
        return f"It cannot be constructed; {unseen} other properties were not checked."
    holding, failing = (sum(one.status == status for one in findings) for status in (HOLDS, FAILS))
    apart = len(findings) - holding - failing
    counts = ((failing, "failed"), (holding, "ok"), (apart, "not applicable"))
    return ", ".join(f"{count} {word}" for count, word in counts if count) + "."
