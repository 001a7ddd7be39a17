"""Finds the place of a mistake in a submission's own lines, by the values on the way to a wrong result.

In the order of data flow, the first value that is not right although all that went into it is. A value that no right
run has may be right all the same, in the submission's own way of doing it: it is, if something right is made of it.
"""

from __future__ import annotations

import ast
import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from grader.core.submission import SubmissionError
from grader.core.value_trace import Event, Odd, Place, Plain, Recordable, Ref, Value, ValueTrace
from grader.engine.alignment import Right, RightValues, level


@dataclass(frozen=True)
class Where:
    """The place of a mistake.

    Attributes:
        place: the lines and columns that are wrong.
        why: "value", "error", "gradient", "in place", "omitted".
        other: a second line that has a share in it: the calling one, the one where an attribute or a number was made,
            or the last right one; None if there is none.
        called_from: lines of the file that called the function, innermost first.
        last_right: the last right value that went into it: its line and its name.
        expected: name of the right value that belongs there, or "".
        proved: with the right value there, the result was right.
        event: index of the event in the trace, or None.
    """

    place: Place
    why: str
    other: int | None = None
    called_from: tuple[int, ...] = ()
    last_right: tuple[int, str] | None = None
    expected: str = ""
    proved: bool = False
    event: int | None = None

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines to show: one or two."""
        return tuple(dict.fromkeys(one for one in (self.place.line, self.other) if one))


class Source:
    """A submission's text, as far as places need it."""

    def __init__(self, text: str) -> None:
        self._lines = text.encode().splitlines()
        self._tree = ast.parse(text)

    def segment(self, place: Place) -> str:
        """The text of an expression; its whole lines where columns are not known."""
        lines = self._lines[place.line - 1 : place.end_line]
        if not lines or place.column is None:
            return b"\n".join(lines).decode("utf-8", "replace")
        if len(lines) == 1:
            return lines[0][place.column : place.end_column].decode("utf-8", "replace")
        inner = [lines[0][place.column :], *lines[1:-1], lines[-1][: place.end_column]]
        return b"\n".join(inner).decode("utf-8", "replace")

    @cached_property
    def _reads(self) -> dict[int, list[ast.expr]]:
        found: dict[int, list[ast.expr]] = {}
        for node in ast.walk(self._tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.lineno, []).append(node)
        return found

    def reads(self, place: Place) -> Iterator[ast.expr]:
        """Names and attributes that an expression reads."""
        for line in range(place.line, place.end_line + 1):
            for node in self._reads.get(line, ()):
                after = place.column is None or line > place.line or node.col_offset >= place.column
                before = (
                    place.end_column is None or line < place.end_line or node.col_offset < place.end_column
                )
                if after and before:
                    yield node

    @cached_property
    def attributes(self) -> Mapping[str, int]:
        """Lines in which `self.NAME` is made in a constructor, other than from an argument as it is."""
        found: dict[str, int] = {}
        for function in ast.walk(self._tree):
            if not isinstance(function, ast.FunctionDef) or function.name != "__init__":
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        if isinstance(target, ast.Attribute) and not isinstance(node.value, ast.Name):
                            found.setdefault(target.attr, node.lineno)
                called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
                if called and node.func.attr == "register_buffer" and node.args:  # type: ignore[attr-defined]
                    name = node.args[0]  # type: ignore[attr-defined]
                    if isinstance(name, ast.Constant) and isinstance(name.value, str):
                        found.setdefault(name.value, node.lineno)
        return found


class Flow:
    """What went into what, in one recorded run. Args: trace: the run; source: the file; right: the right values."""

    def __init__(self, trace: ValueTrace, source: Source, right: RightValues) -> None:
        self.trace, self.source, self.right = trace, source, right
        self.events = trace.events
        self._producers: dict[int, int] = {}
        for index, event in enumerate(self.events):
            if event.kind == "call":
                for value in event.outputs:
                    self._producers.setdefault(value, index)
        self._found: dict[int, Right | None] = {}
        self.inputs = [self._inputs(index) for index in range(len(self.events))]
        self.uses: dict[int, list[int]] = {}
        for index, given in enumerate(self.inputs):
            for one in given:
                self.uses.setdefault(one, []).append(index)

    def _producer(self, value: int) -> int | None:
        """The event that made a value; of one that came from elsewhere, the one that made the same numbers."""
        for _ in range(8):
            if value in self._producers:
                return self._producers[value]
            written = self.trace.values[value].written
            if written is None or written == value:
                break
            value = written
        return None

    def _inputs(self, index: int) -> list[int]:
        event = self.events[index]
        found = [self._producer(value) for value in event.inputs]
        if event.kind != "call":
            items = [*event.names.values(), *event.result]
            found += [self._producer(ref.value) for item in items for ref in refs(item)]
        found += self._read(index)
        return [one for one in dict.fromkeys(found) if one is not None and one < index]

    def _read(self, index: int) -> list[int]:
        """Events whose plain values an event reads: locals, and what calls of functions gave back."""
        event, found = self.events[index], []
        if event.kind == "given":
            return []
        names = {node.id for node in self.source.reads(event.place) if isinstance(node, ast.Name)}
        for before in range(index - 1, -1, -1):
            other = self.events[before]
            if other.frame == event.frame:
                hit = names & set(other.names)
                found += [before] if any(not list(refs(other.names[n])) for n in hit) else []
                names -= hit
                if other.kind == "given":
                    break
                if event.kind != "call" and other.kind == "call" and not other.outputs:
                    if event.place.line == other.place.line:
                        found.append(before)
            elif event.kind != "call" and other.kind == "return" and other.callers[:1] == (event.place.line,):
                found.append(before)
        return found

    def name(self, value: int) -> Right | None:
        """The right value that a value is."""
        if value not in self._found:
            numbers = self.trace.values[value].numbers
            self._found[value] = None if numbers is None else self.right.find(numbers)
        return self._found[value]

    @cached_property
    def _consumed(self) -> set[int]:
        found = {value for event in self.events if event.kind == "call" for value in event.inputs}
        for event in self.events:
            for item in (*event.names.values(), *event.result):
                found.update(ref.value for ref in refs(item))
        return found

    def outputs(self, index: int) -> list[int]:
        """The values of an event that anything is done with; its first, where that is none."""
        event = self.events[index]
        kept = [v for v in event.outputs if v in self._consumed and v not in event.inputs]
        return kept or list(event.outputs[:1])

    def is_right(self, index: int) -> bool | None:
        """Whether what an event gave is right; None if that cannot be said."""
        event = self.events[index]
        if event.kind == "call" and event.outputs:
            found = [self.name(value) for value in self.outputs(index)]
            return all(one is not None for one in found)
        if event.kind == "given":
            return None
        items = [item for item in (*event.names.values(), *event.result) if telling(item)]
        return all(self.right.has_plain(item) for item in items) if items else None

    @cached_property
    def vindicated(self) -> set[int]:
        """Events that are right, or of which something right was made that says more than one number."""
        found: set[int] = set()
        for index in range(len(self.events) - 1, -1, -1):
            if index in found:
                evident = True
            elif self.is_right(index):
                found.add(index)
                evident = self._evident(index)
            else:
                continue
            if evident:
                found.update(self.inputs[index])
        return found

    def _evident(self, index: int) -> bool:
        event = self.events[index]
        if event.kind != "call":
            return True
        numbers = [self.trace.values[value].numbers for value in self.outputs(index)]
        return any(one is not None and not level(one) for one in numbers)

    def suspects(self) -> list[int]:
        """Events that are not right although all that went into them is, in the order of time."""
        wrong = {
            index
            for index in range(len(self.events))
            if index not in self.vindicated and self.is_right(index) is False
        }
        return [index for index in sorted(wrong) if not wrong & self._ancestors(index)]

    def _ancestors(self, index: int) -> set[int]:
        found: set[int] = set()
        left = list(self.inputs[index])
        while left:
            one = left.pop()
            if one not in found:
                found.add(one)
                left += self.inputs[one]
        return found

    @cached_property
    def reaching(self) -> set[int]:
        """Events that something went on from to what the file's functions gave back."""
        found: set[int] = set()
        for index, event in enumerate(self.events):
            if event.kind == "return" and not event.callers:
                found |= {index} | self._ancestors(index)
        return found


def telling(item: Plain) -> bool:
    """Whether a plain value says something: a whole number, a truth value or None may be anything."""
    if isinstance(item, list):
        return bool(item) and not any(isinstance(one, (Ref, Odd)) for one in item)
    return isinstance(item, (float, str))


def refs(item: Plain) -> Iterator[Ref]:
    """The tensors in a plain value."""
    if isinstance(item, Ref):
        yield item
    elif isinstance(item, list):
        for one in item:
            yield from refs(one)


def first_wrong(flow: Flow) -> int | None:
    """The event to blame for a wrong value."""
    suspects = flow.suspects()
    return next((one for one in suspects if one in flow.reaching), suspects[0] if suspects else None)


def cut_off(flow: Flow) -> int | None:
    """The first event that a gradient does not come through."""
    values = flow.trace.values
    for index, event in enumerate(flow.events):
        if event.kind != "call" or not any(values[v].requires_grad for v in event.inputs):
            continue
        outputs = [values[v] for v in flow.outputs(index)]
        if event.result or any(not v.requires_grad and v.dtype.startswith(("float", "bfloat")) for v in outputs):
            return index
    return None


def written(flow: Flow) -> int | None:
    """The first event that changed an argument in place."""
    given = {
        ref.value
        for event in flow.events
        if event.kind == "given" and not event.callers
        for item in event.names.values()
        for ref in refs(item)
    }
    return next(
        (i for i, event in enumerate(flow.events) if event.changed and given & set(event.inputs[:1])), None
    )


def where(flow: Flow, index: int, why: str) -> Where:
    """The place of an event, with all that goes with it."""
    event = flow.events[index]
    right = [one for one in flow.inputs[index] if flow.is_right(one) and flow.events[one].kind == "call"]
    last = None
    if right:
        value = flow.name(flow.outputs(right[-1])[0])
        last = flow.events[right[-1]].place.end_line, "" if value is None else value.name
    other = _other(flow, index) or (last[0] if last else None)
    return Where(event.place, why, other, event.callers, last, event=index)


def _other(flow: Flow, index: int) -> int | None:
    """The line where an attribute or a plain local of the expression was made, else the calling line."""
    event = flow.events[index]
    reads = list(flow.source.reads(event.place))
    made = [flow.source.attributes.get(node.attr) for node in reads if isinstance(node, ast.Attribute)]
    for line in made:
        if line is not None and line != event.place.line:
            return line
    if event.callers:
        return event.callers[0]
    for one in flow.inputs[index]:
        if flow.events[one].kind == "line" and flow.events[one].place.line != event.place.line:
            return flow.events[one].place.line
    return None
