"""The place of a mistake in a submission's file: plain data, checked against the file's own text. Imports no torch."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from zoo.core.printable import shown_characters

LONGEST_LINE = 1_000  # characters of a line that are kept
LONGEST_WORDS = 200
MOST_CALLERS = 6
MOST_LINES = 20_000  # of a file that is looked through for functions
TAB = r"\t"  # as it is shown elsewhere
_LOOP = re.compile(r"\s*(?:async\s+for|for|while)\b")
_BEGIN = re.compile(r"(\s*)(?:class|(?:async\s+)?def)\s+(\w+)")


@dataclass(frozen=True)
class Spot:
    """The place of a mistake, as reports show it.

    Attributes:
        line, end_line: of the file, from 1.
        column, end_column: in characters, from 1; the second is one past the end. None where they are not known.
        why: "value", "error", "gradient", "in place", or "omitted": something is missing beside this line.
        other: a second line that has a share in it, or None.
        called_from: lines that called the function, innermost first.
        last_right: the line of the last right value that goes into it.
        last_value: the name of that value, or "".
        value: what the wrong value is, or "".
        expected: what belongs there, or "".
        proved: with the right value there, the result was right.
        iteration: which run of the line is the first wrong one (a round of a loop, a call); None for the first.
        source: the text of the first line, safe to print, or "".
        mark: from where to where in `source` it is.
        other_source: the text of `other`, or "".
        region: the function or method that the line is in ("MultiHeadAttention.forward"), or "".
        other_region: the one that `other` is in.
    """

    line: int
    end_line: int
    column: int | None = None
    end_column: int | None = None
    why: str = "value"
    other: int | None = None
    called_from: tuple[int, ...] = ()
    last_right: int | None = None
    last_value: str = ""
    value: str = ""
    expected: str = ""
    proved: bool = False
    iteration: int | None = None
    source: str = ""
    mark: tuple[int, int] = (0, 0)
    other_source: str = ""
    region: str = ""
    other_region: str = ""

    @classmethod
    def of_line(cls, line: int | None) -> Spot | None:
        """The place of an error of which only the line is known, if it is."""
        return None if line is None else cls(line, line, why="error")

    def as_object(self) -> dict[str, Any]:
        """As it is in JSON."""
        right = (
            None if self.last_right is None else {"line": self.last_right, "value": self.last_value or None}
        )
        return {
            "line": self.line,
            "end_line": self.end_line,
            "column": self.column,
            "end_column": self.end_column,
            "source": self.source,
            "why": self.why,
            "called_from": list(self.called_from),
            "other": self.other,
            "last_right": right,
            "value": self.value or None,
            "expected": self.expected or None,
            "proved": self.proved,
            "iteration": self.iteration,
        }


class Lines:
    """The lines of a submission's file, as Python counts them."""

    def __init__(self, text: str) -> None:
        self._lines = text.removeprefix("\ufeff").encode("utf-8", "surrogatepass").splitlines()

    def __contains__(self, line: object) -> bool:
        return isinstance(line, int) and 1 <= line <= len(self._lines)

    def text(self, line: int) -> bytes:
        """A line's text in UTF-8, which is what Python counts columns in."""
        return self._lines[line - 1]

    def placed(self, spot: Spot | None) -> Spot | None:
        """The same place with the text of its lines; None if the file has no such lines.

        Its columns, which count bytes from 0, become characters from 1. What a submission can say of its own places
        is not to be trusted: all that does not fit the file is left out.
        """
        if spot is None or spot.line not in self or spot.end_line not in self or spot.end_line < spot.line:
            return None
        start, end = self._columns(spot)
        first = self.text(spot.line)
        source, offsets = printable(_decoded(first))
        begin = 0 if start is None else start - 1
        stop = len(offsets) - 1 if end is None or spot.end_line > spot.line else end - 1
        other = spot.other if spot.other in self and spot.other != spot.line else None
        return replace(
            spot,
            column=start,
            end_column=end,
            other=other,
            called_from=tuple(line for line in spot.called_from if line in self)[:MOST_CALLERS],
            last_right=spot.last_right if spot.last_right in self else None,
            last_value=_short(spot.last_value),
            value=_short(spot.value),
            expected=_short(spot.expected),
            source=source,
            mark=(offsets[min(begin, len(offsets) - 1)], offsets[min(stop, len(offsets) - 1)]),
            other_source="" if other is None else printable(_decoded(self.text(other)))[0],
            region=self.region(spot.line),
            other_region="" if other is None else self.region(other),
        )

    def _columns(self, spot: Spot) -> tuple[int | None, int | None]:
        """The columns in characters, from 1, if they are columns of the lines."""
        if spot.column is None or spot.end_column is None:
            return None, None
        first, last = self.text(spot.line), self.text(spot.end_line)
        ordered = spot.line < spot.end_line or spot.column < spot.end_column
        if not (0 <= spot.column < len(first) and 0 < spot.end_column <= len(last) and ordered):
            return None, None
        return len(_decoded(first[: spot.column])) + 1, len(_decoded(last[: spot.end_column])) + 1

    def region(self, line: int) -> str:
        """The function, method or class that a line is in, read line by line; "" at the file's own level."""
        inside: list[tuple[int, str]] = []
        if line > MOST_LINES:
            return ""
        for text in self._lines[:line]:
            found = _BEGIN.match(_decoded(text[:LONGEST_LINE]))
            if found is not None:
                indent = len(found[1])
                inside = [outer for outer in inside if outer[0] < indent] + [(indent, found[2])]
        last = _decoded(self.text(line)[:LONGEST_LINE])
        indent = len(last) - len(last.lstrip())
        if _BEGIN.match(last) is None:
            inside = [outer for outer in inside if outer[0] < indent]
        return ".".join(name for _, name in inside)[:LONGEST_WORDS]

    def loop(self, line: int) -> int | None:
        """The line where the innermost loop begins that a line is in, in the same function, read line by line."""
        begins = _LOOP.match(_decoded(self.text(line)[:LONGEST_LINE])) is not None
        indent = self._indent(line)
        for before in () if begins else range(line - 1, max(line - MOST_LINES, 0), -1):
            text = _decoded(self.text(before)[:LONGEST_LINE])
            if text.strip() and self._indent(before) < indent:
                indent = self._indent(before)
                if _LOOP.match(text) is not None:
                    return before
                if _BEGIN.match(text) is not None:
                    break
        return None

    def _indent(self, line: int) -> int:
        text = _decoded(self.text(line)[:LONGEST_LINE])
        return len(text) - len(text.lstrip())


def printable(text: str) -> tuple[str, list[int]]:
    """A line safe to print: control and bidirectional characters are escaped, tabs are spaces, its end is cut off.

    Returns:
        the text, and for each character of the line (and its end) where it begins there.
    """
    shown: list[str] = []
    offsets, size = [0], 0
    for c in shown_characters(text[:LONGEST_LINE]):
        if c == TAB:
            c = " " * (4 - size % 4)
        shown.append(c)
        size += len(c)
        offsets.append(size)
    return "".join(shown), offsets


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def _short(text: str) -> str:
    """Words on one line, safe to print."""
    return printable(" ".join(text.split()))[0][:LONGEST_WORDS]


Spots = Mapping[str, Spot]
"""Places by the id of a mistake; under "" that of a failure as a whole."""


def in_file(spots: Spots, lines: Lines) -> Spots:
    """Those that the file has, with its text."""
    found = {name: lines.placed(spot) for name, spot in spots.items()}
    return {name: spot for name, spot in found.items() if spot is not None}
