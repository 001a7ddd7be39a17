"""Finds the place of a mistake in a submission's own lines, by the values on the way to a wrong result.

In the order of data flow, the first value that is not right although all that went into it is, see `Flow`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch import Tensor

from grader.core.value_trace import Event, Odd, Place, Plain, Ref
from grader.engine.alignment import equal, hidden, level, turned
from grader.engine.flow import Flow, refs
from grader.engine.source_tree import Source
from grader.engine.unknown_names import unknown

MOST_BACK = 4
MOST_BEHIND = 6  # lines behind an exception


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
            any other line has wrong lists or numbers, or "".
        agreed: how many scenarios have this place.
        iteration: which run of the expression is the first wrong one (a round of a loop, a call); None for the first.
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
    iteration: int | None = None

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines to show: one or two."""
        return tuple(dict.fromkeys(one for one in (self.place.line, self.other) if one))


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
    return Where(event.place, why, other, event.callers, last, event=index, iteration=_iteration(flow, index))


def _iteration(flow: Flow, index: int) -> int | None:
    """Which run of its expression an event is, if those before it gave nothing wrong; None for the first."""
    event = flow.events[index]
    before = [
        i
        for i, one in enumerate(flow.events[:index])
        if (one.kind, one.name, one.place) == (event.kind, event.name, event.place)
    ]
    return len(before) + 1 if before and not any(flow.is_right(i) is False for i in before) else None


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
    value, expected = unknown(flow.source, line, message)
    other = _unfit(flow, index, message)
    other = other or _condition(flow.source, line, names) or _unmade(flow.source, line, message)
    other = other or _turned(flow, index, values)
    other = other or next(iter(flow.source.assigned(line)), None) or _other(flow, index)
    return Where(event.place, "error", other, event.callers, value=value, expected=expected)


def behind(flow: Flow, line: int) -> list[int]:
    """Lines where what an exception was raised with was made, the nearest first."""
    at = exception(flow, line)
    if at is None:
        return []
    failed = flow.failed(at)
    left = [at if failed is None else failed]
    names = {node.id for node in flow.source.reads(flow.events[at].place) if isinstance(node, ast.Name)}
    left += [
        before
        for before in range(at - 1, -1, -1)
        if flow.events[before].frame == flow.events[at].frame and names & set(flow.events[before].names)
    ]
    seen, found = set(left), [line]
    while left and len(found) < MOST_BEHIND:
        one = left.pop(0)
        found.append(flow.events[one].place.line)
        more = sorted({*flow.inputs[one]} - seen, reverse=True)
        seen.update(more)
        left += more
    made = [at for one in found for at in flow.source.made(one)]
    return list(dict.fromkeys([*found, *made]))[:MOST_BEHIND]


def _unfit(flow: Flow, index: int, message: str) -> int | None:
    """The line where a name got a value of the type that an exception speaks of: "'int' object is not callable"."""
    said = re.search(r"'(\w+)' object", message)
    if said is None:
        return None
    event = flow.events[index]
    names = flow.source.used(event.place.line)
    for before in reversed(flow.events[:index]):
        if before.frame == event.frame and before.kind == "line":
            latest = names & set(before.names)
            if any(_type_name(before.names[name]) == said[1] for name in latest):
                return before.place.line
            names -= latest
    return None


def _type_name(item: Plain) -> str:
    if isinstance(item, Ref):
        return "Tensor"
    return item.type_name if isinstance(item, Odd) else type(item).__name__


def _condition(source: Source, line: int, names: set[str]) -> int | None:
    """The line of the condition that lets an exception be raised, or that looks at the same names."""
    for at, read in source.tests(line):
        if at != line and (source.guards(line) or names & read):
            return at
    return None


def _unmade(source: Source, line: int, message: str) -> int | None:
    """Where a constructor should have called that of its base first, or the end of one that made no attribute."""
    if "before Module.__init__" in message:
        return source.constructor_begin(line)
    found = re.search(r"has no attribute '(\w+)'", message)
    if found is None or found[1] in source.attributes:
        return None
    return source.local_in_constructor(line, found[1]) or source.constructor_end(line)


def endless(line: int) -> Where:
    """The place of a recursion without end: the line that it goes through again and again."""
    said = "what is called here comes back to this line, without end"
    return Where(Place(line, line), "error", value=said, expected="a call that comes to an end")


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


def never_dropped(flow: Flow) -> Where | None:
    """Dropout that a right run has and this one has nowhere: between the value it is for, and what takes that."""
    if any("dropout" in event.name or event.name.startswith("bernoulli") for event in flow.events):
        return None
    for right in flow.right.calls.get("dropout", []):
        for index, event in enumerate(flow.events):
            for value in event.inputs if event.kind == "call" else ():
                numbers, producer = flow.trace.values[value].numbers, flow.producer(value)
                if numbers is None or producer is None or not right.inputs:
                    continue
                if equal(hidden(numbers), right.inputs[0], flow.right.close):
                    made = flow.events[producer].place.end_line
                    line = event.place.line
                    other = flow.source.made_around(flow.events[producer].place)
                    other = other or max((at for at in flow.source.assigned(line) if at > made), default=made)
                    return Where(event.place, "omitted", other, event.callers, event=index, evidence="alike")
    return None


def at_the_end(flow: Flow) -> Where | None:
    """All values are right, but not the last one: what is missing would come last."""
    ends = [i for i, one in enumerate(flow.events) if one.kind == "return" and not one.callers and one.result]
    if not ends:
        return not_returned(flow)
    at = _innermost(flow, ends[-1])
    end, outermost = flow.events[at], flow.events[ends[-1]]
    left = flow.source.left_by(end.place.line, flow.trace.ran)
    if left is not None:
        return Where(Place(left, left), "omitted", _other(flow, at), event=at)
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
