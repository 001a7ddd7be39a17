"""Finds the place of a mistake in a submission's own lines, by the values on the way to a wrong result.

In the order of data flow, the first value that is not right although all that went into it is. A value that no right
run has may be right all the same, in the submission's own way of doing it: it is, if something right is made of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from torch import Tensor

from grader.core.value_trace import Event, Odd, Place, Plain, Ref, ValueTrace
from grader.engine.alignment import Right, RightValues, level, turned


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
        value: what the wrong value is, in words, or "".
        expected: name of the right value that belongs there, or "".
        proved: with right values there, the result was right.
        event: index of the event in the trace, or None.
    """

    place: Place
    why: str
    other: int | None = None
    called_from: tuple[int, ...] = ()
    last_right: tuple[int, str] | None = None
    value: str = ""
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
    def _reads(self) -> dict[int, list[ast.Name | ast.Attribute]]:
        found: dict[int, list[ast.Name | ast.Attribute]] = {}
        for node in ast.walk(self._tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.lineno, []).append(node)
        return found

    def reads(self, place: Place) -> Iterator[ast.expr]:
        """Names and attributes that an expression reads."""
        for line in range(place.line, min(place.end_line, len(self._lines)) + 1):
            for node in self._reads.get(line, ()):
                after = place.column is None or line > place.line or node.col_offset >= place.column
                before = (
                    place.end_column is None or line < place.end_line or node.col_offset < place.end_column
                )
                if after and before:
                    yield node

    @cached_property
    def _spans(self) -> dict[int, range]:
        found: dict[int, range] = {}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.end_lineno is not None:
                lines = range(node.lineno, node.end_lineno + 1)
                found.update(dict.fromkeys(lines, lines))
        return found

    def span(self, line: int) -> range:
        """The lines of the statement that a line belongs to."""
        return self._spans.get(line, range(line, line + 1))

    @cached_property
    def constants(self) -> Mapping[str, int]:
        """Lines in which the module's own names get their values."""
        found: dict[str, int] = {}
        for node in self._tree.body:
            for target in node.targets if isinstance(node, ast.Assign) else ():
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        found[name.id] = node.lineno
        return found

    def default(self, line: int, name: str) -> int | None:
        """The line of an argument's default, of the function that begins in a line (its decorators count)."""
        for node in ast.walk(self._tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            start = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if line not in (start, node.lineno):
                continue
            args = node.args
            plain = [*args.posonlyargs, *args.args]
            pairs = [
                *zip(plain[::-1], args.defaults[::-1], strict=False),
                *zip(args.kwonlyargs, args.kw_defaults, strict=True),
            ]
            for arg, value in pairs:
                if arg.arg == name and value is not None:
                    return value.lineno
        return None

    @cached_property
    def attributes(self) -> Mapping[str, int]:
        """Lines in which `self.NAME` is made in a constructor, other than from the argument of that name."""
        found: dict[str, int] = {}
        for function in ast.walk(self._tree):
            if not isinstance(function, ast.FunctionDef) or function.name != "__init__":
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        if isinstance(target, ast.Attribute) and ast.unparse(node.value) != target.attr:
                            found.setdefault(target.attr, node.lineno)
                if (
                    isinstance(node, ast.Call)
                    and ast.unparse(node.func) == "self.register_buffer"
                    and node.args
                ):
                    name = node.args[0]
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
        self._right: dict[int, bool | None] = {}
        self._parts: set[int] = set()  # values that are a slice of a right one: not wrong, but no evidence
        self.inputs = [self._inputs(index) for index in range(len(self.events))]
        self.uses: dict[int, list[int]] = {}
        for index, given in enumerate(self.inputs):
            for one in given:
                self.uses.setdefault(one, []).append(index)

    def producer(self, value: int) -> int | None:
        """The event that made a value; of one that came from elsewhere, the one that made the same numbers."""
        for _ in range(8):
            if value in self._producers:
                return self._producers[value]
            written = self.trace.values[value].written
            if written is None or written == value:
                break
            value = written
        return self._same_numbers(value)

    @cached_property
    def _by_numbers(self) -> dict[tuple[Any, ...], int]:
        found: dict[tuple[Any, ...], int] = {}
        for value, index in self._producers.items():
            numbers = self.trace.values[value].numbers
            if numbers is not None and not level(numbers):
                found[_key(numbers)] = index
        return found

    def _same_numbers(self, value: int) -> int | None:
        """The event that made what came back in other memory: a buffer after `.to(dtype)`, a part's result."""
        numbers = self.trace.values[value].numbers
        return None if numbers is None else self._by_numbers.get(_key(numbers))

    def _inputs(self, index: int) -> list[int]:
        event = self.events[index]
        if event.kind == "given":
            return []
        found = [self.producer(value) for value in event.inputs]
        if event.kind != "call":
            items = [*event.names.values(), *event.result]
            found += [self.producer(ref.value) for item in items for ref in refs(item)]
        found += self._read(index)
        return [one for one in dict.fromkeys(found) if one is not None and one < index]

    def _read(self, index: int) -> list[int]:
        """Events whose plain values an event reads: locals, and what calls of functions gave back."""
        event, found = self.events[index], []
        lines = self.source.span(event.place.line)
        names = {node.id for node in self.source.reads(event.place) if isinstance(node, ast.Name)}
        for before in range(index - 1, -1, -1):
            other = self.events[before]
            if other.frame == event.frame:
                hit = names & set(other.names)
                found += [before] if any(not list(refs(other.names[n])) for n in hit) else []
                names -= hit
                if other.kind == "given":
                    break
                if (
                    event.kind != "call"
                    and other.kind == "call"
                    and not other.outputs
                    and other.place.line in lines
                ):
                    found.append(before)
            elif event.kind != "call" and other.kind == "return" and set(other.callers[:1]) & set(lines):
                found.append(before)
        return found

    def name(self, value: int) -> Right | None:
        """The right value that a value is."""
        if value not in self._found:
            numbers = self.trace.values[value].numbers
            found = None if numbers is None else self.right.find(numbers)
            if found is None and numbers is not None:
                found = self.right.find_part(numbers)
                self._parts |= {value} if found is not None else set()
            self._found[value] = found
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
        if index not in self._right:
            self._right[index] = self._is_right(index)
        return self._right[index]

    def _is_right(self, index: int) -> bool | None:
        event = self.events[index]
        if event.kind == "call" and event.outputs:
            outputs = self.outputs(index)
            if any(self.name(value) is None for value in outputs):
                drawn = event.frame in self._constructors and self.trace.values[outputs[0]].requires_grad
                return None if drawn else False  # a parameter's first values are free
            return True if any(self._tells(value) for value in outputs) else None
        if event.kind == "given":
            return None
        if event.kind == "return":
            items = [item for item in event.result if telling(item) or item == []]
            return all(self.right.has_plain(item, event.name) for item in items) if items else None
        items = [item for item in event.names.values() if telling(item)]
        return all(self.right.has_plain(item) for item in items) if items else None

    @cached_property
    def _constructors(self) -> set[int]:
        return {event.frame for event in self.events if event.kind == "given" and event.name == "__init__"}

    def _tells(self, value: int) -> bool:
        numbers = self.trace.values[value].numbers
        return numbers is not None and not level(numbers) and value not in self._parts

    @cached_property
    def vindicated(self) -> set[int]:
        """Events that are right, or of which something right was made that says more than one number."""
        found: set[int] = set()
        for index in range(len(self.events) - 1, -1, -1):
            if index in found or self.is_right(index):
                found.update([index, *self.inputs[index]])
        return found

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

    def missing(self, index: int) -> list[Right]:
        """Right values that the run does not have and that an event may have been meant to give: the next ones after
        those that went into it, those of its shape first."""
        there = {id(found) for found in map(self.name, range(len(self.trace.values))) if found is not None}
        given = [one.order for value in self.events[index].inputs if (one := self.name(value)) is not None]
        shape = self.trace.values[self.outputs(index)[0]].shape
        left = [
            one for one in self.right.values if one.order > max(given, default=-1) and id(one) not in there
        ]
        return sorted(left, key=lambda one: (tuple(one.numbers.shape) != shape, one.order))

    @cached_property
    def reaching(self) -> set[int]:
        """Events that something went on from to what the file's functions gave back."""
        found: set[int] = set()
        for index, event in enumerate(self.events):
            if event.kind == "return" and not event.callers:
                found |= {index} | self._ancestors(index)
        return found


def _key(numbers: Tensor) -> tuple[Any, ...]:
    return tuple(numbers.shape), numbers.contiguous().numpy().tobytes()


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


def other_default(flow: Flow) -> Where | None:
    """An argument that was left out, and so has another value than in a right run."""
    begun = [event for event in flow.events if event.kind == "given" and not event.callers]
    for event, right in zip(begun, flow.right.given, strict=False):
        for name, value in event.names.items():
            plain = isinstance(value, (int, float, str)) and isinstance(right.get(name), (int, float, str))
            if plain and value != right[name]:
                line = flow.source.default(event.place.line, name)
                if line is not None:
                    return Where(Place(line, line), "value")
    return None


def cut_off(flow: Flow) -> int | None:
    """The first event that a gradient does not come through."""
    values = flow.trace.values
    for index, event in enumerate(flow.events):
        if event.kind != "call" or not any(values[v].requires_grad for v in event.inputs):
            continue
        outputs = [values[v] for v in flow.outputs(index)]
        if event.result or any(
            not v.requires_grad and v.dtype.startswith(("float", "bfloat")) for v in outputs
        ):
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
    other = _turned(flow, index, event.inputs) or _other(flow, index)
    return Where(event.place, why, other, event.callers, last, event=index)


def completed(flow: Flow, found: Where, line: int | None) -> Where:
    """The same with a second line: that of the error, the last right one, or where the function begins."""
    if found.other is not None or found.event is None:
        return found
    event = flow.events[found.event]
    begin = next(e.place.line for e in flow.events if e.frame == event.frame)
    lines = [line, found.last_right[0] if found.last_right else None, begin]
    return replace(found, other=next((one for one in lines if one and one != found.place.line), None))


def _turned(flow: Flow, index: int, values: Sequence[int]) -> int | None:
    """The line where something that goes into an event got another layout than in a right run, or says nothing."""
    event = flow.events[index]
    for value in values:
        found, numbers = flow.name(value), flow.trace.values[value].numbers
        producer = flow.producer(value)
        if found is None or numbers is None or producer is None:
            continue
        line = flow.events[producer].place.line
        odd = level(numbers) or turned(numbers, found.numbers, flow.right.close)
        if odd and line != event.place.line:
            return line
    return None


def _other(flow: Flow, index: int) -> int | None:
    """The line where an attribute or a number of the expression was made, else the calling line."""
    event = flow.events[index]
    reads = list(flow.source.reads(event.place))
    made = [flow.source.attributes.get(node.attr) for node in reads if isinstance(node, ast.Attribute)]
    names = [node.id for node in reads if isinstance(node, ast.Name)]
    made += [flow.source.constants.get(name) for name in names]
    helpers = [flow.events[one] for one in flow.inputs[index] if flow.events[one].kind == "return"]
    made += [one.place.line for one in helpers if flow.events.index(one) not in flow.vindicated]
    made += event.callers[:1]
    made += [line for one in helpers for line in one.callers[:1]]  # where a statement has several lines
    for before in reversed(flow.events[:index]):
        if before.frame == event.frame and before.kind == "line":
            made += [_made(flow, before, name) for name in names if name in before.names]
    return next((line for line in made if line is not None and line != event.place.line), None)


def _made(flow: Flow, event: Event, name: str) -> int:
    """The line where a local's value was made: in a helper, if one gave it."""
    producers = [flow.producer(ref.value) for ref in refs(event.names[name])]
    return next((flow.events[one].place.line for one in producers if one is not None), event.place.line)


def raised(flow: Flow, line: int) -> Where:
    """The place of an exception: its line, and the calling one or one that has a share in it."""
    found = [
        i for i, event in enumerate(flow.events) if event.kind == "exception" and event.place.line == line
    ]
    if not found:
        return Where(Place(line, line), "error")
    index = found[-1]
    event = flow.events[index]
    names = {node.id for node in flow.source.reads(event.place) if isinstance(node, ast.Name)}
    values = [
        before.outputs[0]
        for before in reversed(flow.events[:index])
        if before.frame == event.frame and before.outputs
        if event.place.line < before.place.line <= event.place.end_line
    ]
    values += [
        ref.value
        for before in reversed(flow.events[:index])
        if before.frame == event.frame
        for name in names & set(before.names)
        for ref in refs(before.names[name])
    ]
    other = _turned(flow, index, values) or _other(flow, index)
    return Where(event.place, "error", other, event.callers)


def at_the_end(flow: Flow) -> Where | None:
    """All values are right, but not the last one: what is missing would come last."""
    ends = [i for i, one in enumerate(flow.events) if one.kind == "return" and not one.callers and one.result]
    if not ends:
        return None
    end = flow.events[ends[-1]]
    lines = [
        i for i in range(ends[-1]) if flow.events[i].frame == end.frame and flow.events[i].kind == "line"
    ]
    if not lines:
        return Where(end.place, "omitted", _other(flow, ends[-1]), event=ends[-1])
    last = flow.events[lines[-1]]
    computed = any(e.kind == "call" and e.place.line == last.place.line for e in flow.events)
    other = None if computed else _other(flow, lines[-1])
    return Where(last.place, "omitted", other or end.place.line, event=lines[-1])
