"""Text for people: wrapped to the terminal, in columns, in colour where that is wanted. JSON for programs."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial

import click

NARROWEST, WIDEST = 40, 120
WIDEST_OF_ALL = 250  # for two columns of source
FULL_LINE = 96  # a line that its next word would have made longer was broken for its length
GAP = "  "
QUOTED = re.compile(r"`[^`\n]*`")
HARD_SPACE = "\xa0"
_OUTPUT = f"{__name__}.output"


def width(widest: int = WIDEST) -> int:
    """Columns to write on: those of the terminal, or of COLUMNS, or 80; at most `widest`."""
    return max(NARROWEST, min(widest, shutil.get_terminal_size().columns))


def colour() -> bool:
    """Return whether standard output is a terminal that shows colour, and nobody asked for none (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def bold(text: str) -> str:
    """`text`, bold where there is colour."""
    return click.style(text, bold=True) if colour() else text


def dim(text: str) -> str:
    """`text`, each line dim where there is colour."""
    return "\n".join(click.style(line, dim=True) for line in text.split("\n")) if colour() else text


def wrapped(text: str, indent: str = "") -> str:
    """`text` wrapped line by line, not within `backticks`; indented lines (source, a caret) stay as they are."""
    fill = partial(
        textwrap.fill,
        width=width(),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    kept = QUOTED.sub(lambda match: match[0].replace(" ", HARD_SPACE), text)
    lines = (line if line.startswith(" ") else fill(line) for line in kept.split("\n"))
    return "\n".join(lines).replace(HARD_SPACE, " ")


def reflowed(text: str, indent: str = "") -> str:
    """`text` with lines that only their length parted joined again, and wrapped two spaces further in."""
    lines = []
    for line in _joined(text.split("\n")):
        start = indent + line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(
            line,
            width(),
            initial_indent=indent,
            subsequent_indent=start + GAP * (start != indent),
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(lines)


def _joined(lines: Iterable[str]) -> list[str]:
    """Lines, with those put together that their author broke because they had become too long."""
    found: list[str] = []
    room = FULL_LINE  # what is left of the last line
    for line in lines:
        first = line.split()[0] if line.strip() else ""
        if first and len(first) >= room and _indent_of(line) >= _indent_of(found[-1]):
            found[-1] += f" {line.strip()}"
        else:
            found.append(line)
        room = FULL_LINE - len(line) * bool(line.strip())
    return found


def _indent_of(line: str) -> int:
    """Return how many spaces `line` begins with."""
    return len(line) - len(line.lstrip())


def columns(rows: Iterable[Sequence[str]], flexible: int = -1, widths: Sequence[int] = ()) -> str:
    """Rows in columns, two spaces in; the flexible column is wrapped so that all fits the terminal.

    Args:
        rows: cells; all rows have as many.
        flexible: index of the column that is wrapped.
        widths: least widths, for columns that line up with those of another block.
    """
    rows = list(rows)
    if not rows:
        return ""
    needed = [max(map(len, column)) for column in zip(*rows, strict=True)]
    needed = [max(pair) for pair in zip(needed, widths or needed, strict=True)]
    others = sum(needed) - needed[flexible] + len(GAP) * len(needed)
    needed[flexible] = min(needed[flexible], max(16, width() - others))
    lines = []
    for row in rows:
        parts = [[cell] for cell in row]
        parts[flexible] = textwrap.wrap(row[flexible], needed[flexible], break_on_hyphens=False) or [""]
        for i in range(max(map(len, parts))):
            cells = [part[i] if i < len(part) else "" for part in parts]
            padded = (cell.ljust(size) for cell, size in zip(cells, needed, strict=True))
            lines.append((GAP + GAP.join(padded)).rstrip())
    return "\n".join(lines)


def counted(number: int, noun: str) -> str:
    """ "1 step", "1,000 steps"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@contextmanager
def output_alone() -> Iterator[None]:
    """Keep standard output for `print_alone` while a command runs: what a part prints goes to standard error."""
    click.get_current_context().meta[_OUTPUT] = sys.stdout
    with redirect_stdout(sys.stderr):
        yield


def print_alone(text: str) -> None:
    """`text`, which ends with a line's end, as the only thing on standard output."""
    context = click.get_current_context(silent=True)
    click.echo(text, nl=False, file=None if context is None else context.meta.get(_OUTPUT))


def print_json(data: object) -> None:
    """`data` as the only thing on standard output."""
    import json

    print_alone(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
