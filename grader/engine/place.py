"""Finds the place of a mistake in a submission's own lines, by the values on the way to a wrong result.

In the order of data flow, the first value that is not right although all that went into it is. A value that no right
run has may be right all the same, in the submission's own way of doing it: it is, if something right is made of it.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from torch import Tensor

from grader.core.value_trace import Event, Odd, Place, Plain, Ref, ValueTrace
from grader.engine.alignment import (
    Right,
    RightCall,
    RightValues,
    equal,
    hidden,
    level,
    plain_name,
    same_layout,
    turned,
)

MOST_BACK = 4
LAYOUT = {
    "getitem",
    "unsqueeze",
    "reshape",
    "transpose",
    "expand",
    "to",
    "float",
    "double",
    "long",
    "T",
    "squeeze",
}
COMMUTING = {"add", "mul", "and", "or"}


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
        evidence: "edited" if a small change in the line makes wrong results right, "patched" if a right value there
            does, "alike" if a right run did the same with the same values and got something else, "narrow" if hardly
            any other line has wrong values, or "".
        agreed: how many scenarios have this place.
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
    evidence: str = ""
    agreed: int = 1

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

    def made(self, line: int) -> list[int]:
        """Lines where the attributes and the constants that a line reads were made."""
        found = [
            self.attributes.get(node.attr) if isinstance(node, ast.Attribute) else self.constants.get(node.id)
            for node in self._reads.get(line, ())
        ]
        return [one for one in found if one is not None]

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
    def _tests(self) -> dict[int, list[tuple[int, set[str], ast.stmt]]]:
        found: dict[int, list[tuple[int, set[str], ast.stmt]]] = {}
        for node in ast.walk(self._tree):
            if isinstance(node, (ast.If, ast.While)):
                names = {one.id for one in ast.walk(node.test) if isinstance(one, ast.Name)}
                names |= {one.attr for one in ast.walk(node.test) if isinstance(one, ast.Attribute)}
                inside = range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1)
                for line in inside:
                    found.setdefault(line, []).append((node.test.lineno, names, node))
        return found

    def tests(self, line: int) -> list[tuple[int, set[str]]]:
        """Lines of the conditions that decide whether a line runs, with the names that they read, innermost first."""
        return [(at, names) for at, names, _ in sorted(self._tests.get(line, []), key=lambda one: -one[0])]

    def skipped(self, after: int, before: int) -> int | None:
        """The line of the last condition between two lines, whose statements lie between them too."""
        tests = [(at, node.end_lineno or at) for some in self._tests.values() for at, _, node in some]
        return max((at for at, end in tests if after < at and end < before), default=None)

    @cached_property
    def raises(self) -> list[tuple[str, int, int]]:
        """Statements that raise: the exception's name, their line, and the line of the condition for it."""
        found = []
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Raise) and node.exc is not None:
                called = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                tests = self.tests(node.lineno)
                found.append((ast.unparse(called), node.lineno, tests[0][0] if tests else node.lineno))
        return found

    def guards(self, line: int) -> bool:
        """Whether a statement that raises is in a line."""
        return any(first <= line <= last for first, last in self._raising)

    @cached_property
    def _raising(self) -> list[tuple[int, int]]:
        return [
            (node.lineno, node.end_lineno or node.lineno)
            for node in ast.walk(self._tree)
            if isinstance(node, (ast.Raise, ast.Assert))
        ]

    def last_line(self, line: int) -> int | None:
        """The last statement of the function that a line belongs to."""
        found = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and node.lineno <= line <= (node.end_lineno or line)
        ]
        return max(found, key=lambda node: node.lineno).body[-1].lineno if found else None

    def constructor_end(self, line: int) -> int | None:
        """The last line of the constructor of the class that a line belongs to."""
        found = self._constructor(line)
        return None if found is None else found.body[-1].lineno

    def local_in_constructor(self, line: int, name: str | None) -> int | None:
        """The line in which that constructor gives a value to a local of this name."""
        found = self._constructor(line)
        stored = [
            node.lineno
            for node in (ast.walk(found) if found is not None else ())
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        ]
        return min(stored, default=None)

    def _constructor(self, line: int) -> ast.FunctionDef | None:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ClassDef) and node.lineno <= line <= (node.end_lineno or line):
                for one in node.body:
                    if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                        return one
        return None

    @cached_property
    def statements(self) -> list[int]:
        """Lines in which the statements of functions begin."""
        functions = [node for node in ast.walk(self._tree) if isinstance(node, ast.FunctionDef)]
        return sorted({
            node.lineno for one in functions for node in ast.walk(one) if isinstance(node, ast.stmt)
        })  # fmt: skip

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
                    for target in (one for whole in node.targets for one in ast.walk(whole)):
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


@dataclass(frozen=True)
class Counterpart:
    """A right call, and which of an event's inputs equal which of the call's."""

    call: RightCall
    hits: Mapping[int, int]


class Flow:
    """What went into what, in one recorded run. Args: trace: the run; source: the file; right: the right values."""

    def __init__(self, trace: ValueTrace, source: Source, right: RightValues) -> None:
        self.trace, self.source, self.right = trace, source, right
        self.events = trace.events
        self._producers: dict[int, int] = {}
        self._makers: dict[int, list[int]] = {}  # what gives back its argument is one too
        for index, event in enumerate(self.events):
            if event.kind == "call":
                for value in event.outputs:
                    self._producers.setdefault(value, index)
                    self._makers.setdefault(value, []).append(index)
        self._found: dict[int, Right | None] = {}
        self._right: dict[int, bool | None] = {}
        self._before: dict[int, set[int]] = {}
        self._counterparts: dict[int, Counterpart | None] = {}
        self._parts: set[int] = set()  # values that are a slice of a right one: not wrong, but no evidence
        self.inputs = [self._inputs(index) for index in range(len(self.events))]

    def beside(self, right: RightValues) -> Flow:
        """The same run beside another right one."""
        found = copy.copy(self)
        found.right = right
        found._found, found._right, found._counterparts, found._parts = {}, {}, {}, set()
        for name in ("vindicated", "_there"):
            vars(found).pop(name, None)
        return found

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

    def makers(self, value: int, before: int) -> list[int]:
        """The events that gave a value before another event, the last one first."""
        found = [one for one in self._makers.get(value, []) if one < before]
        producer = self.producer(value) if not found else None
        return found[::-1] if found or producer is None else [producer]

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
                # A parameter's first values are free, as is counting.
                return None if drawn or self._counts(index) else False
            return True if any(self._tells(value) for value in outputs) else None
        if event.kind == "given":
            return None
        if event.kind == "return":
            items = [item for item in event.result if telling(item) or item == []]
            return all(self.right.has_plain(item, event.name) for item in items) if items else None
        items = [item for item in event.names.values() if telling(item)]
        return all(self.right.has_plain(item) for item in items) if items else None

    def _counts(self, index: int) -> bool:
        """Whether an event counts from 0, or gives such numbers another layout."""
        event = self.events[index]
        if event.name == "arange":
            numbers = [one for one in event.arguments.split(", ") if one.lstrip("-").isdigit()]
            return len(numbers) == 1 or numbers[:-1] == ["0"]
        made = [self.producer(value) for value in event.inputs]
        return (
            plain_name(event.name) in LAYOUT
            and len(made) > 0
            and all(one is not None and one < index and self._counts(one) for one in made)
        )

    @cached_property
    def _constructors(self) -> set[int]:
        return {event.frame for event in self.events if event.kind == "given" and event.name == "__init__"}

    def is_turned(self, value: int) -> bool:
        """Whether a value is right in another layout than that of any right run."""
        numbers, found = self.trace.values[value].numbers, self.name(value)
        if numbers is None or found is None or level(numbers):
            return False
        return value not in self._parts and turned(numbers, found.numbers, self.right.close)

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
        return [index for index in sorted(wrong) if not wrong & self.ancestors(index)]

    def ancestors(self, index: int) -> set[int]:
        """All events that something went from into an event."""
        if index not in self._before:
            found: set[int] = set()
            left = list(self.inputs[index])
            while left:
                one = left.pop()
                if one not in found:
                    found.add(one)
                    left += self.inputs[one]
            self._before[index] = found
        return self._before[index]

    @cached_property
    def _there(self) -> set[int]:
        """Ids of the right values that the run has."""
        found = map(self.name, range(len(self.trace.values)))
        return {id(one) for one in found if one is not None}

    def counterpart(self, index: int, target: Tensor | None = None) -> Counterpart | None:
        """The call of a right run that an event most likely was meant to be: of the same operation, on the same inputs.

        One whose result the run does not have comes before the others. Args: target: what it should have given.
        """
        if target is not None or index not in self._counterparts:
            self._counterparts[index] = self._counterpart(index, target)
        return self._counterparts[index]

    def _counterpart(self, index: int, target: Tensor | None) -> Counterpart | None:
        event = self.events[index]
        calls = self.right.calls.get(plain_name(event.name), []) if event.kind == "call" else []
        kept = [self.trace.values[one].numbers for one in event.inputs]
        inputs = [None if one is None else hidden(one) for one in kept]
        output = self.trace.values[event.outputs[0]].shape if event.outputs else None
        best, score = None, (False, 0, 0, False, False)
        for call in calls:
            meant = target is not None and equal(target, call.output.numbers, self.right.close)
            hits = self._hits(call, inputs)
            alike = sum(
                hits[n] is None and n < len(call.inputs) and self._alike(one, call.inputs[n])
                for n, one in enumerate(inputs)
            )
            same_output = output is None or tuple(call.output.numbers.shape) == output
            found = Counterpart(call, {n: at for n, at in enumerate(hits) if at is not None})
            this = meant, len(found.hits), alike, id(call.output) not in self._there, same_output
            alone = len(call.inputs) == len(inputs) == 1 and this[3]
            if this > score and (meant or found.hits or alike or alone):
                best, score = found, this
        return best

    def _alike(self, numbers: Tensor | None, right: Tensor) -> bool:
        """Whether two values are the same up to layout."""
        fits = numbers is not None and numbers.numel() == right.numel() and not level(right)
        return fits and numbers is not None and same_layout(numbers, right, self.right.close)

    def _hits(self, call: RightCall, inputs: Sequence[Tensor | None]) -> list[int | None]:
        """For each input, the place of the right call's input that it equals."""
        left = dict(enumerate(call.inputs))
        found: list[int | None] = []
        for at, one in enumerate(inputs):
            places = [at] if call.name not in COMMUTING else list(left)
            equals = (
                n for n in places if n in left and one is not None and equal(one, left[n], self.right.close)
            )
            hit = next(equals, None)
            left.pop(-1 if hit is None else hit, None)
            found.append(hit)
        return found

    def failed(self, index: int) -> int | None:
        """The torch call that raised an exception."""
        event = self.events[index]
        before = index - 1
        while before >= 0 and self.events[before].kind == "exception":
            before -= 1
        last = self.events[before] if before >= 0 else event
        fits = last.kind == "call" and not last.outputs and not last.result and last.frame == event.frame
        return before if fits and last.place.line in self.source.span(event.place.line) else None

    def agrees(self, index: int) -> bool:
        """Whether an event does what a right run did: the same operation on the same inputs, with the same result."""
        found, event = self.counterpart(index), self.events[index]
        if found is None or not event.outputs or len(found.hits) < len(event.inputs):
            return False
        kept = self.trace.values[event.outputs[0]].numbers
        return kept is not None and equal(hidden(kept), found.call.output.numbers, self.right.close)

    def odd_inputs(self, index: int) -> list[tuple[int, Tensor]]:
        """What goes into an event and is not what went into its counterpart: the value, and the right one."""
        found, event = self.counterpart(index), self.events[index]
        if found is None or len(found.call.inputs) != len(event.inputs):
            return []
        left = [n for n in range(len(event.inputs)) if n not in found.hits.values()]
        odd = [n for n in range(len(event.inputs)) if n not in found.hits]
        return [(event.inputs[n], found.call.inputs[at]) for n, at in zip(odd, left, strict=True)]

    def missing(self, index: int) -> list[Right]:
        """Right values that the run does not have and that an event may have been meant to give: the next ones after
        those that went into it, those of its shape first."""
        if not self.events[index].outputs:
            return []
        given = [one.order for value in self.events[index].inputs if (one := self.name(value)) is not None]
        shape = self.trace.values[self.outputs(index)[0]].shape
        left = [
            one
            for one in self.right.values
            if one.order > max(given, default=-1) and id(one) not in self._there
        ]
        return sorted(left, key=lambda one: (tuple(one.numbers.shape) != shape, one.order))

    @cached_property
    def reaching(self) -> set[int]:
        """Events that something went on from to what the file's functions gave back."""
        found: set[int] = set()
        for index, event in enumerate(self.events):
            if event.kind == "return" and not event.callers:
                found |= {index} | self.ancestors(index)
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
    reaching = [one for one in suspects if one in flow.reaching or not flow.reaching]
    return reaching[0] if reaching else None


def downstream(flow: Flow, index: int) -> list[int]:
    """What is wrong and was made of an event, and went on to the result, in the order of time."""
    return [
        one
        for one in range(index + 1, len(flow.events))
        if flow.events[one].outputs
        and one in flow.reaching
        and one not in flow.vindicated
        and index in flow.ancestors(one)
    ]


def chain(flow: Flow, index: int) -> list[tuple[int, Tensor | None]]:
    """An event to blame, then what made something odd that went into it, and so on, with what it should have given."""
    found: list[tuple[int, Tensor | None]] = [(index, None)]
    for _ in range(MOST_BACK):
        last, target = found[-1]
        flow.counterpart(last, target)
        back = [
            (maker, right)
            for value, right in flow.odd_inputs(last)
            for maker in flow.makers(value, last)
            if maker not in [one for one, _ in found] and not flow.agrees(maker)
        ]
        if not back:
            break
        found.append(back[0])
    return found


def other_default(flow: Flow) -> Where | None:
    """An argument that was left out, and so has another value than in a right run."""
    begun = [event for event in flow.events if event.kind == "given" and not event.callers]
    for event, right in zip(begun, flow.right.given, strict=False):
        for name, value in event.names.items():
            plain = isinstance(value, (int, float, str)) and isinstance(right.get(name), (int, float, str))
            if plain and value != right[name]:
                line = flow.source.default(event.place.line, name)
                if line is not None:
                    return Where(Place(line, line), "value", evidence="alike")
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


def where(flow: Flow, index: int, why: str, seen: int | None = None) -> Where:
    """The place of an event, with all that goes with it.

    Args:
        seen: the event that it was first seen in.
    """
    event = flow.events[index]
    right = [one for one in flow.inputs[index] if flow.is_right(one) and flow.events[one].kind == "call"]
    last = None
    if right:
        value = flow.name(flow.outputs(right[-1])[0])
        last = flow.events[right[-1]].place.end_line, "" if value is None else value.name
    other = _elsewhere_right(flow, index) or _odd(flow, index) or _made_in(flow, index)
    if other is None and seen is not None and flow.events[seen].place.line != event.place.line:
        other = flow.events[seen].place.line
    other = other or _turned(flow, index, event.inputs) or _other(flow, index)
    return Where(event.place, why, other, event.callers, last, event=index)


def _elsewhere_right(flow: Flow, index: int) -> int | None:
    """The calling line, where the same expression is right for another call."""
    event = flow.events[index]
    others = (
        one
        for one, other in enumerate(flow.events)
        if other.place == event.place and other.callers[:1] != event.callers[:1] and flow.agrees(one)
    )
    return event.callers[0] if event.callers and next(others, None) is not None else None


def _odd(flow: Flow, index: int) -> int | None:
    """The line where something that goes into an event, and is not what should, got its name, or else was made."""
    event = flow.events[index]
    names = {node.id for node in flow.source.reads(event.place) if isinstance(node, ast.Name)}
    for value, _ in flow.odd_inputs(index):
        lines = [
            before.place.line
            for before in reversed(flow.events[:index])
            if before.frame == event.frame
            and before.kind == "line"
            and any(Ref(value) in refs(before.names[name]) for name in names & set(before.names))
        ]
        producer = flow.producer(value)
        if producer is not None:
            lines.append(flow.events[producer].place.line)
        found = next((line for line in lines if line != event.place.line), None)
        if found is not None:
            return found
    return None


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


def _made_in(flow: Flow, index: int) -> int | None:
    """The line where an attribute or a constant of the expression was made, or a helper that is wrong."""
    event = flow.events[index]
    reads = list(flow.source.reads(event.place))
    made = [flow.source.attributes.get(node.attr) for node in reads if isinstance(node, ast.Attribute)]
    names = [node.id for node in reads if isinstance(node, ast.Name)]
    made += [flow.source.constants.get(name) for name in names]
    helpers = [one for one in flow.inputs[index] if flow.events[one].kind == "return"]
    made += [flow.events[one].place.line for one in helpers if one not in flow.vindicated]
    return next((line for line in made if line is not None and line != event.place.line), None)


def _other(flow: Flow, index: int) -> int | None:
    """The line where something that the expression reads was made, or which called the function."""
    event = flow.events[index]
    names = [node.id for node in flow.source.reads(event.place) if isinstance(node, ast.Name)]
    helpers = [flow.events[one] for one in flow.inputs[index] if flow.events[one].kind == "return"]
    made = [_made_in(flow, index), *event.callers[:1]]
    made += [line for one in helpers for line in one.callers[:1]]  # where a statement has several lines
    for before in reversed(flow.events[:index]):
        if before.frame == event.frame and before.kind == "line":
            made += [_made(flow, before, name) for name in names if name in before.names]
    return next((line for line in made if line is not None and line != event.place.line), None)


def _made(flow: Flow, event: Event, name: str) -> int:
    """The line where a local's value was made: in a helper, if one gave it."""
    producers = [flow.producer(ref.value) for ref in refs(event.names[name])]
    return next((flow.events[one].place.line for one in producers if one is not None), event.place.line)


def exception(flow: Flow, line: int) -> int | None:
    """The event of the exception that was raised in a line."""
    found = [i for i, one in enumerate(flow.events) if one.kind == "exception" and one.place.line == line]
    return found[-1] if found else None


def raised(flow: Flow, line: int, message: str = "") -> Where:
    """The place of an exception: its line, and the calling one or one that has a share in it."""
    index = exception(flow, line)
    if index is None:
        return Where(Place(line, line), "error", _condition(flow.source, line, set()))
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
    other = _condition(flow.source, line, names) or _unmade(flow.source, line, message)
    other = other or _turned(flow, index, values) or _other(flow, index)
    return Where(event.place, "error", other, event.callers)


def _condition(source: Source, line: int, names: set[str]) -> int | None:
    """The line of the condition that lets an exception be raised, or that looks at the same names."""
    for at, read in source.tests(line):
        if at != line and (source.guards(line) or names & read):
            return at
    return None


def _unmade(source: Source, line: int, message: str) -> int | None:
    """The end of a constructor that did not make an attribute."""
    found = re.search(r"has no attribute '(\w+)'|before Module.__init__", message)
    if found is None or found[1] in source.attributes:
        return None
    return source.local_in_constructor(line, found[1]) or source.constructor_end(line)


def not_raised(source: Source, type_name: str) -> Where | None:
    """The place where an error should have been raised."""
    found = [(test, line) for name, line, test in source.raises if name == type_name]
    if not found:
        return None
    first, line = found[0]
    other = found[1][0] if len(found) > 1 else line
    return Where(Place(first, first), "error", other if other != first else None)


def turned_first(flow: Flow) -> int | None:
    """Where all is right but the layout of the result: the first event that turned it."""
    ends = [i for i, one in enumerate(flow.events) if one.kind == "return" and not one.callers and one.result]
    odd = {
        index
        for end in ends
        for index in flow.ancestors(end)
        if flow.events[index].kind == "call" and any(map(flow.is_turned, flow.outputs(index)))
    }
    last = {
        flow.producer(ref.value) for end in ends for item in flow.events[end].result for ref in refs(item)
    }
    if not last & odd:
        return None
    return next((index for index in sorted(odd) if not odd & flow.ancestors(index)), None)


def not_returned(flow: Flow) -> Where | None:
    """The end of the function that gives nothing back."""
    begun = [one for one in flow.events if one.kind == "given" and not one.callers and one.name != "__init__"]
    line = flow.source.last_line(begun[-1].place.line) if begun else None
    return None if line is None else Where(Place(line, line), "omitted", begun[-1].place.line)


def at_the_end(flow: Flow) -> Where | None:
    """All values are right, but not the last one: what is missing would come last."""
    ends = [i for i, one in enumerate(flow.events) if one.kind == "return" and not one.callers and one.result]
    if not ends:
        return not_returned(flow)
    at = _innermost(flow, ends[-1])
    end, outermost = flow.events[at], flow.events[ends[-1]]
    lines = [i for i in range(at) if flow.events[i].frame == end.frame and flow.events[i].kind == "line"]
    if end is not outermost or not lines:
        other = outermost.place.line if end is not outermost else _other(flow, at)
        return Where(end.place, "omitted", other, event=at)
    last = flow.events[lines[-1]]
    computed = any(e.kind == "call" and e.place.line == last.place.line for e in flow.events)
    other = None if computed else _other(flow, lines[-1])
    return Where(last.place, "omitted", other or end.place.line, event=lines[-1])


def _innermost(flow: Flow, index: int) -> int:
    """The return that gave a value which the functions around it gave back as it was."""
    found = index
    for before in range(index - 1, -1, -1):
        event = flow.events[before]
        if event.kind == "line" and event.frame == flow.events[found].frame:
            break
        if event.kind == "return" and event.result == flow.events[found].result:
            found = before
    return found
