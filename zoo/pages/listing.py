"""Python source for a page: lines of coloured pieces, with places marked. Safe for source of strangers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from zoo.core.printable import shown_characters

MOST_COLOURED = 100_000  # characters; a lexer's expressions may take long on what is made to be slow
MOST_LINES = 3_000
LONGEST_LINE = 1_000
_ENDS = re.compile(r"\r\n|\r|\n")  # as Python counts lines
KINDS = {"Keyword": "k", "String": "s", "Comment": "c", "Number": "m", "Function": "n", "Class": "n"}
"""CSS classes by the last or next to last name of a token of Pygments."""


@dataclass(frozen=True)
class Mark:
    """A place in a source: characters from `start` to `end` of a line, counted from 0; to its end if that is None."""

    line: int
    start: int = 0
    end: int | None = None


@dataclass(frozen=True)
class Piece:
    """Characters of one kind: a CSS class or "", and whether they are marked. The text is safe to show."""

    text: str
    kind: str
    marked: bool


@dataclass(frozen=True)
class Line:
    """A line of a listing: its number from 1, its pieces, and whether something in it is marked."""

    number: int
    pieces: tuple[Piece, ...]
    marked: bool


def listing(source: str, marks: Iterable[Mark] = ()) -> list[Line]:
    """The lines of a Python source, at most `MOST_LINES` of them, cut off after `LONGEST_LINE` characters."""
    lines = _ENDS.split(source.removeprefix("\ufeff"))
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    marked: dict[int, set[int]] = {}
    for mark in marks:
        if 1 <= mark.line <= len(lines):
            text = lines[mark.line - 1]
            start = max(
                mark.start, len(text) - len(text.lstrip())
            )  # of a place of several lines: not the indent
            marked.setdefault(mark.line, set()).update(
                range(start, len(text) if mark.end is None else mark.end)
            )
    kinds = _kinds(lines)
    return [
        Line(number, tuple(_pieces(text, kind, marked.get(number, set()))), number in marked)
        for number, (text, kind) in enumerate(zip(lines[:MOST_LINES], kinds, strict=False), start=1)
    ]


def _pieces(text: str, kinds: list[str], marked: set[int]) -> Iterator[Piece]:
    shown = list(shown_characters(text[:LONGEST_LINE]))
    keyed = [
        (
            (kinds[i], i in marked),
            "    " if c == r"\t" else c,
        )  # a tab; a backslash and a t are two characters
        for i, c in enumerate(shown)
    ]
    for (kind, mark), some in groupby(keyed, key=lambda one: one[0]):
        yield Piece("".join(c for _, c in some), kind, mark)
    if len(text) > LONGEST_LINE:
        yield Piece(" ...", "c", False)


def _kinds(lines: list[str]) -> list[list[str]]:
    """A kind for each character of each line."""
    plain = [[""] * len(line) for line in lines]
    if sum(map(len, lines)) > MOST_COLOURED:
        return plain
    from pygments.lexers import PythonLexer

    found: list[str] = []
    for token, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens("\n".join(lines)):
        kind = next((KINDS[part] for part in reversed(token) if part in KINDS), "")
        found += [kind] * len(text)
    if len(found) != sum(map(len, lines)) + len(lines) - 1:  # the lexer changed the text: no colours
        return plain
    kinds, start = [], 0
    for line in lines:
        kinds.append(found[start : start + len(line)])
        start += len(line) + 1
    return kinds
