"""The data flow of one recorded run of a submission, and which of its values are right.

A value that no right run has may be right all the same, in the submission's own way of doing it: it is, if something
right is made of it.
"""

from __future__ import annotations

import ast
import bisect
import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from grader.core.value_trace import Odd, Plain, Ref, ValueTrace
from grader.edits.source_tree import Source
from grader.places.alignment import (
    Right,
    RightCall,
    RightValues,
    Summary,
    equal,
    hidden,
    level,
    plain_name,
    same_layout,
    summarised,
    turned,
)
from grader.worker.value_trace import EMPTY

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
OF_PARTS = 3  # inputs at least: what it is called with, and its parameters
COMMUTING = {"add", "mul", "and", "or"}
PRODUCTS = {"matmul", "einsum", "baddbmm", "scaled_dot_product_attention"}
SELECTING = {"where", "masked_fill"}
CUTTING = {"chunk", "split", "tensor_split", "unbind"}  # lose nothing
WHOLE = {"int64", "int32", "bool"}
ZEROS = {"zeros", "zeros_like", "new_zeros"}


@dataclass(frozen=True)
class Counterpart:
    """A right call, and which of an event's inputs equal which of the call's."""

    call: RightCall
    hits: Mapping[int, int]


def _between(numbers: list[int], first: int, last: int) -> list[int]:
    """Those of ascending numbers that are above one and below another."""
    return numbers[bisect.bisect_right(numbers, first) : bisect.bisect_left(numbers, last)]


class Flow:
    """What went into what, in one recorded run. Args: trace: the run; source: the file; right: the right values."""

    def __init__(self, trace: ValueTrace, source: Source, right: RightValues) -> None:
        self.trace, self.source, self.right = trace, source, right
        self._first_right = right  # a recorded run, which knows what parts were called with
        self.events = trace.events
        self._producers: dict[int, int] = {}
        self._makers: dict[int, list[int]] = {}  # what gives back its argument is one too
        # Events in order: where a run of a function begins; where a local changes; calls without a value, by their
        # run and line; returns, by the calling line.
        self._given: dict[int, list[int]] = defaultdict(list)
        self._named: dict[tuple[int, str], list[int]] = defaultdict(list)
        self._silent: dict[tuple[int, int], list[int]] = defaultdict(list)
        self._returned: dict[int, list[int]] = defaultdict(list)
        for index, event in enumerate(self.events):
            for name in event.names:
                self._named[event.frame, name].append(index)
            if event.kind == "given":
                self._given[event.frame].append(index)
            elif event.kind == "return" and event.callers:
                self._returned[event.callers[0]].append(index)
            elif event.kind == "call" and not event.outputs:
                self._silent[event.frame, event.place.line].append(index)
            if event.kind == "call":
                for value in event.outputs:
                    self._producers.setdefault(value, index)
                    self._makers.setdefault(value, []).append(index)
        self._found: dict[int, Right | None] = {}
        self._right: dict[int, bool | None] = {}
        self._before: dict[int, set[int]] = {}
        self._counterparts: dict[int, Counterpart | None] = {}
        self._parts: set[int] = set()  # values that are a slice of a right one: not wrong, but no evidence
        self._single: Sequence[Flow] = ()  # the run beside each of the right ones that `right` joins
        self.inputs = [self._inputs(index) for index in range(len(self.events))]

    def beside(self, right: RightValues, single: Sequence[Flow] = ()) -> Flow:
        """The same run beside another right one. Args: single: beside each of those that it joins."""
        found = copy.copy(self)
        found.right, found._single = right, single
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

    def lines_back(self, value: int, most: int) -> list[int]:
        """The line that made a value, then those on the way back of each first input, the nearest first."""
        lines: list[int] = []
        producer = self.producer(value)
        while producer is not None and len(lines) < most:
            event = self.events[producer]
            lines.append(event.place.line)
            before = [one for one in event.inputs if one < value]
            value = before[0] if before else value
            producer = self.producer(value) if before else None
        return lines

    def makers(self, value: int, before: int) -> list[int]:
        """The events that gave a value before another event, the last one first."""
        found = [one for one in self._makers.get(value, []) if one < before]
        producer = self.producer(value) if not found else None
        return found[::-1] if found or producer is None else [producer]

    @cached_property
    def _by_numbers(self) -> dict[tuple[Any, ...], list[int]]:
        found: dict[tuple[Any, ...], list[int]] = {}
        for value, index in self._producers.items():
            numbers = self.trace.values[value].numbers
            if numbers is not None and not level(numbers):
                found.setdefault(_key(numbers), []).append(index)
        return found

    def _same_numbers(self, value: int, before: int | None = None) -> int | None:
        """The event that made what came back in other memory: a buffer after `.to(dtype)`, a part's result."""
        numbers = self.trace.values[value].numbers
        known = [] if numbers is None else self._by_numbers.get(_key(numbers), [])
        return next((one for one in reversed(known) if before is None or one < before), None)

    def _came_from(self, value: int, index: int) -> int | None:
        """The event before another that made a value which goes into that; also where it gives the value back."""
        found = self.producer(value)
        return self._same_numbers(value, index) if found is not None and found >= index else found

    def _inputs(self, index: int) -> list[int]:
        event = self.events[index]
        if event.kind == "given":
            return []
        found = [self._came_from(value, index) for value in event.inputs]
        if event.kind != "call":
            items = [*event.names.values(), *event.result]
            found += [self.producer(ref.value) for item in items for ref in refs(item)]
        found += self._read(index)
        return [one for one in dict.fromkeys(found) if one is not None and one < index]

    def _read(self, index: int) -> list[int]:
        """Events whose plain values an event reads: locals, and what calls of functions gave back."""
        event = self.events[index]
        begun = _between(self._given[event.frame], -1, index)[-1:]
        start = begun[0] - 1 if begun else -1
        found = set[int]()
        for name in {node.id for node in self.source.reads(event.place) if isinstance(node, ast.Name)}:
            for before in _between(self._named[event.frame, name], start, index)[-1:]:
                if not list(refs(self.events[before].names[name])):
                    found.add(before)
        if event.kind != "call":
            for line in self.source.span(event.place.line):
                found.update(_between(self._silent[event.frame, line], start, index))
                returned = _between(self._returned[line], start, index)
                found.update(one for one in returned if self.events[one].frame != event.frame)
        return sorted(found, reverse=True)

    def name(self, value: int) -> Right | None:
        """The right value that a value is."""
        if value not in self._found:
            numbers = self.trace.values[value].numbers
            if self._single and all(one.name(value) is None for one in self._single):
                numbers = None
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
        """Return whether what an event gave is right; None if that cannot be said."""
        if index not in self._right:
            self._right[index] = self._is_right(index)
        return self._right[index]

    def _is_right(self, index: int) -> bool | None:
        event = self.events[index]
        if event.kind == "call" and event.outputs:
            outputs = self.outputs(index)
            if any(self.name(value) is None for value in self._saying(outputs)):
                drawn = event.frame in self.constructors and self.trace.values[outputs[0]].requires_grad
                # A parameter's first values are free, as is counting; what is empty gets its numbers later.
                free = drawn or self._counts(index) or plain_name(event.name) in EMPTY or self._begins(index)
                return None if free or self._picks(index) else False
            return True if any(self._tells(value) for value in outputs) else None
        if event.kind == "given":
            return None
        if event.kind == "return":
            items = [item for item in event.result if telling(item) or item == []]
            return all(self.right.has_plain(item, event.name) for item in items) if items else None
        items = [item for item in event.names.values() if telling(item)]
        return all(self.right.has_plain(item) for item in items) if items else None

    def _saying(self, values: Sequence[int]) -> Sequence[int]:
        """Of several values, those that are more than one number: the last part may be a short one."""
        numbers = {value: self.trace.values[value].numbers for value in values}
        return [value for value, x in numbers.items() if x is None or not level(x)] or values

    def _begins(self, index: int) -> bool:
        """Return whether an event makes zeros that something is added to before all else."""
        event = self.events[index]
        if plain_name(event.name) not in ZEROS:
            return False
        later = (
            one for one in self.events[index + 1 :] if one.kind == "call" and event.outputs[0] in one.inputs
        )
        first = next(later, None)
        return first is not None and plain_name(first.name) == "add"

    def _picks(self, index: int) -> bool:
        """Return whether an event picks rows of right whole numbers by a right mask, or gives such another layout.

        Of other numbers, that can be seen.
        """
        event = self.events[index]
        if plain_name(event.name) in CUTTING and event.inputs:
            return self.name(event.inputs[0]) is not None
        if plain_name(event.name) not in LAYOUT or not event.inputs:
            return False
        kept = self.trace.values[event.outputs[0]]
        if kept.dtype not in WHOLE:
            return False
        if len(event.inputs) == 1:
            made = self.producer(event.inputs[0])
            return made is not None and made < index and self._picks(made)
        picked = [self.trace.values[one].dtype == "bool" for one in event.inputs[1:]]
        return all(picked) and all(self.name(one) is not None for one in event.inputs)

    def read_in(self, index: int) -> int | None:
        """The next line that takes what an event gives, if it is another one."""
        given = {*self.outputs(index)}
        later = (one for one in self.events[index + 1 :] if one.kind == "call" and given & {*one.inputs})
        line = next((one.place.line for one in later), None)
        return None if line == self.events[index].place.line else line

    def _counts(self, index: int) -> bool:
        """Return whether an event counts from 0, or gives such numbers another layout."""
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
    def constructors(self) -> set[int]:
        """Frames of constructors."""
        return {event.frame for event in self.events if event.kind == "given" and event.name == "__init__"}

    def is_turned(self, value: int) -> bool:
        """Return whether a value is right in another layout than that of any right run."""
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
                found.update([index] if self._only_repeats(index) else [index, *self.inputs[index]])
        return found

    def _only_repeats(self, index: int) -> bool:
        """Whether an event gives back one of its inputs, as none of a right run does: an average over one single value,
        a mask that hides nothing. That is no evidence for the other inputs."""
        event = self.events[index]
        name = plain_name(event.name) if event.kind == "call" else ""
        if name not in (*PRODUCTS, *SELECTING):
            return False
        found = self.name(self.outputs(index)[0]) if event.outputs else None
        if found is None or found not in map(self.name, event.inputs):
            return False
        return name in SELECTING or not any(
            call.output is found
            and any(same_layout(one, found.numbers, self.right.close) for one in call.inputs)
            for name in PRODUCTS
            for call in self.right.calls.get(name, ())
        )

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
        summaries = [None if one is None else summarised(one) for one in inputs]
        output = self.trace.values[event.outputs[0]].shape if event.outputs else None
        best, score = None, (False, 0, 0, False, False)
        for call in calls:
            meant = target is not None and equal(target, call.output.numbers, self.right.close)
            hits = self._hits(call, inputs)
            alike = sum(
                hits[n] is None and n < len(call.inputs) and self._alike(one, summary, call, n)
                for n, (one, summary) in enumerate(zip(inputs, summaries, strict=True))
            )
            same_output = output is None or tuple(call.output.numbers.shape) == output
            found = Counterpart(call, {n: at for n, at in enumerate(hits) if at is not None})
            this = meant, len(found.hits), alike, id(call.output) not in self._there, same_output
            alone = len(call.inputs) == len(inputs) == 1 and this[3]
            if this > score and (meant or found.hits or alike or alone):
                best, score = found, this
        return best

    def _alike(self, numbers: Tensor | None, summary: Summary | None, call: RightCall, at: int) -> bool:
        """Return whether a value is an input of a right call, up to layout. Args: at: which."""
        right, wanted = call.inputs[at], call.summaries[at]
        if numbers is None or summary is None or wanted is None or numbers.numel() != right.numel():
            return False
        return self.right.near(summary, wanted, right.numel()) and same_layout(
            numbers, right, self.right.close
        )

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
        """Return the inputs of an event that differ from those of its counterpart: the value, and the right one.

        What is a part of a right value does not count.
        """
        found, event = self.counterpart(index), self.events[index]
        if found is None or len(found.call.inputs) != len(event.inputs):
            return []
        left = [n for n in range(len(event.inputs)) if n not in found.hits.values()]
        odd = [n for n in range(len(event.inputs)) if n not in found.hits]
        pairs = [(event.inputs[n], found.call.inputs[at]) for n, at in zip(odd, left, strict=True)]
        return [(value, right) for value, right in pairs if not self._is_part(value)]

    def _is_part(self, value: int) -> bool:
        self.name(value)  # looks for it
        return value in self._parts

    def unlike(self, index: int) -> list[int]:
        """Return the inputs of a part that its call in a right run does not get, such as another mask."""
        event = self.events[index]
        if len(event.inputs) < OF_PARTS:
            return []
        kept = [self.trace.values[one].numbers for one in event.inputs]
        inputs = [None if one is None else hidden(one) for one in kept]
        known = self._first_right.calls.values()
        calls = [one for some in known for one in some if len(one.inputs) == len(inputs)]
        hits = max((self._hits(one, inputs) for one in calls), key=lambda hits: -hits.count(None), default=[])
        missed = [value for value, hit in zip(event.inputs, hits, strict=False) if hit is None]
        return missed if len(missed) < len(hits) / 2 else []

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

    def is_copy(self, index: int) -> bool:
        """Return whether an event only gives a wrong value that came from elsewhere another layout, or other memory."""
        event = self.events[index]
        known = [self.name(value) for value in event.inputs]
        return plain_name(event.name) in LAYOUT | {"clone", "detach"} and not any(known)

    def passed(self, index: int) -> list[Right]:
        """Right values of its result's shape that went into an event: it may be a step too many."""
        shape = tuple(self.trace.values[self.outputs(index)[0]].shape) if self.events[index].outputs else None
        given = [self.name(value) for value in self.events[index].inputs]
        return [one for one in given if one is not None and tuple(one.numbers.shape) == shape]

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
    """Return whether a plain value says something: a whole number, a truth value or None may be anything."""
    if isinstance(item, list):
        return bool(item) and not any(isinstance(one, Odd) for one in item) and not list(refs(item))
    return isinstance(item, (float, str))


def refs(item: Plain) -> Iterator[Ref]:
    """The tensors in a plain value."""
    if isinstance(item, Ref):
        yield item
    elif isinstance(item, list):
        for one in item:
            yield from refs(one)
