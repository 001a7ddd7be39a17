"""The trace of values that a submission's process recorded: untrusted, so its format is checked here."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor

from grader.core.submission import Submission

MOST_TEXT = 2**23  # bytes
MOST_ENTRIES = 4_100  # events, and values
MOST_NUMBERS = 2**20
MOST_ITEMS = 500
LAST_LINE = 10**6

Plain = Any
"""Numbers, texts, None, lists of these, `Ref` and `Odd`."""


@dataclass(frozen=True)
class Ref:
    """A tensor in a plain value: the number of its value."""

    value: int


@dataclass(frozen=True)
class Odd:
    """Something of another type."""

    type_name: str


@dataclass(frozen=True)
class Value:
    """A tensor's value at one moment.

    Attributes:
        numbers: float64, of its shape; None if it was too large to be kept.
        written: the value that was last written into the same memory, if any.
    """

    shape: tuple[int, ...]
    dtype: str
    numbers: Tensor | None
    requires_grad: bool = False
    written: int | None = None


@dataclass(frozen=True)
class Place:
    """Lines and columns of the file, both from 1 and 0; columns are None where they are not known."""

    line: int
    end_line: int
    column: int | None = None
    end_column: int | None = None


@dataclass(frozen=True)
class Event:
    """A torch call, or one call into other code that made some; or a line that changed locals, or returned.

    Attributes:
        kind: "call", "given" (a function begins), "line", "return" or "exception".
        callers: lines of the file that called the function, innermost first.
        frame: number of the function's run.
        name: the operation, or the function whose line it is.
        arguments: of the operation, as text.
        inputs, outputs: numbers of values.
        changed: it wrote into its output.
        number: of the torch call, for a patch.
        names: locals that changed, with what they are now.
        result: what a line returned, or what came out of a call that gives no tensor.
    """

    kind: str
    place: Place
    callers: tuple[int, ...]
    frame: int
    name: str
    arguments: str = ""
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    changed: bool = False
    number: int = 0
    names: Mapping[str, Plain] = field(default_factory=dict)
    result: tuple[Plain, ...] = ()


@dataclass(frozen=True)
class ValueTrace:
    """All events in the order of time, and the values they speak of. `ran`: all lines that ran, empty if not known."""

    events: Sequence[Event] = ()
    values: Sequence[Value] = ()
    ran: Sequence[int] = ()


@runtime_checkable
class Recordable(Submission, Protocol):
    """A submission that can be recorded."""

    def record(self, patches: Mapping[int, Tensor] | None = None) -> None:
        """Begin; results of torch calls are replaced with `patches`, by the call's number."""

    def recorded(self) -> ValueTrace:
        """End it. Gives what was recorded."""


@runtime_checkable
class Editable(Protocol):
    """A submission of which changed copies can be asked.

    Attributes:
        copies_cpu_s: seconds of CPU that these took in a process of their own.
    """

    @property
    def copies_cpu_s(self) -> float: ...

    def edited(self, text: str) -> Submission | None:
        """The file with another text, elsewhere; None where that cannot be done. It replaces the copy before it.

        Raises:
            SubmissionError: the text does not run.
        """


def read_trace(text: bytes, numbers: Tensor) -> ValueTrace:
    """Check a record, and read it.

    Raises:
        ValueError: it is none.
    """
    if len(text) > MOST_TEXT or numbers.dtype != torch.float64 or numbers.dim() != 1:
        raise ValueError("a trace that is too long, or not of float64")
    if numbers.numel() > MOST_NUMBERS or text.count(b"[") + text.count(b"{") > 2**20:
        raise ValueError("a trace of too many numbers")
    try:
        found = json.loads(text)
    except RecursionError as error:
        raise ValueError("a trace that is nested too deeply") from error
    rows, values = found["events"], found["values"]
    ran = found.get("ran", [])
    if not all(type(one) is list and len(one) <= MOST_ENTRIES for one in (rows, values, ran)):
        raise ValueError("a trace of too many events")
    kept = [_value(row, numbers, len(values)) for row in values]
    lines = [_whole(one, LAST_LINE) for one in ran]
    return ValueTrace([_event(row, len(kept)) for row in rows], kept, lines)


def _value(row: Any, numbers: Tensor, count: int) -> Value:
    shape, dtype, offset, requires_grad, written = row
    if type(shape) is not list or len(shape) > 16:
        raise ValueError("a value without a shape")
    shape = tuple(_whole(n, 2**40) for n in shape)
    size, kept = math.prod(shape), None
    if _whole(offset, MOST_NUMBERS, least=-1) >= 0:
        if offset + size > len(numbers):
            raise ValueError("a value beyond the end of the numbers")
        kept = numbers[offset : offset + size].view(shape)
    by = _whole(written, count, least=-1)
    return Value(shape, _text(dtype), kept, requires_grad is True, None if by < 0 else by)


def _event(row: Any, count: int) -> Event:
    def numbers(found: Any) -> tuple[int, ...]:
        return tuple(_whole(n, count - 1) for n in _list(found))

    if type(row) is not list or not row:
        raise ValueError("an event that is none")
    if row[0] == "call":
        _, number, place, frame, callers, (name, arguments), inputs, outputs, said, changed = row
        return Event(
            "call",
            _place(place),
            _lines(callers),
            _whole(frame, 2**31),
            _text(name),
            _text(arguments),
            numbers(inputs),
            numbers(outputs),
            changed is True,
            _whole(number, 2**31),
            result=tuple(_plain(one, count) for one in _list(said)[:1]),
        )
    _, kind, place, frame, callers, function, names, said = row
    if row[0] != "line" or kind not in ("given", "line", "return", "exception") or type(names) is not dict:
        raise ValueError("an event of an unknown kind")
    return Event(
        kind,
        _place(place),
        _lines(callers),
        _whole(frame, 2**31),
        _text(function),
        names={_text(name): _plain(one, count) for name, one in names.items()},
        result=tuple(_plain(one, count) for one in _list(said)[:1]),
    )


def _place(row: Any) -> Place:
    line, end_line, column, end_column = _list(row)
    line, end_line = _whole(line, LAST_LINE), _whole(end_line, LAST_LINE)
    columns = [_whole(one, 2**20, least=-1) for one in (column, end_column)]
    if min(columns) < 0:
        return Place(line, max(line, end_line))
    return Place(line, max(line, end_line), *columns)


def _lines(found: Any) -> tuple[int, ...]:
    return tuple(_whole(n, LAST_LINE) for n in _list(found))


def _plain(found: Any, count: int, depth: int = 0) -> Plain:
    if found is None or type(found) in (bool, float):
        return found
    if type(found) is int:
        return _whole(found, 2**53, least=-(2**53))
    if type(found) is str:
        return _text(found)
    if type(found) is list and depth < 8:
        return [_plain(one, count, depth + 1) for one in _list(found)]
    if type(found) is dict and set(found) == {"v"}:
        return Ref(_whole(found["v"], count - 1))
    if type(found) is dict and set(found) == {"o"}:
        return Odd(_text(found["o"]))
    raise ValueError("a plain value that is none")


def _list(found: Any) -> list[Any]:
    if type(found) is not list or len(found) > MOST_ITEMS:
        raise ValueError("not a list, or one that is too long")
    return found


def _text(found: Any) -> str:
    if type(found) is not str or len(found) > MOST_ITEMS:
        raise ValueError("not a text, or one that is too long")
    return found


def _whole(found: Any, most: int, least: int = 0) -> int:
    if type(found) is not int or not least <= found <= most:
        raise ValueError("not a whole number, or one that is out of bounds")
    return found
