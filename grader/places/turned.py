"""Finds where a value got a layout that no right run has: transposed, merged in another order, heads before batch."""

from __future__ import annotations

from collections.abc import Sequence

from grader.places.alignment import batch_first, level, plain_name, turned
from grader.places.flow import Flow, refs

MOST_BACK = 4  # events
REORDERING = frozenset({"reshape", "transpose", "permute", "movedim", "t", "T"})


def turned_at(flow: Flow, index: int, values: Sequence[int]) -> int | None:
    """The line where something that goes into an event got another layout than in a right run, or says nothing."""
    event = flow.events[index]
    for value in values:
        found, numbers = flow.name(value), flow.trace.values[value].numbers
        producer = flow.producer(value)
        if found is None or numbers is None or producer is None:
            continue
        odd = level(numbers) or turned(numbers, found.numbers, flow.right.close)
        line = flow.events[turned_by(flow, producer)].place.line
        if odd and line != event.place.line:
            return line
    return None


def turned_by(flow: Flow, index: int) -> int:
    """The first of the events that gave what an event gives a layout which no right run has."""
    for _ in range(MOST_BACK):
        back = [flow.producer(value) for value in flow.events[index].inputs if flow.is_turned(value)]
        if not back or back[0] is None or back[0] >= index:
            break
        index = back[0]
    return index


def layouts_mixed(flow: Flow, index: int) -> list[int]:
    """The events that gave what goes into an event layouts that do not go together, in order; none if they do.

    Of two axes one comes first in one value, and the other in another: a batch of heads meets heads of a batch.
    """
    found: dict[bool, int] = {}
    for value in flow.events[index].inputs:
        right, numbers, producer = flow.name(value), flow.trace.values[value].numbers, flow.producer(value)
        if (
            right is None
            or numbers is None
            or producer is None
            or producer >= index
            or not flow.is_turned(value)
        ):
            continue
        first = batch_first(numbers, right.numbers, flow.right.close)
        if first is not None:
            found.setdefault(first, turned_by(flow, producer))
    return sorted(found.values()) if len({*found.values()}) > 1 else []


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


def mixes(flow: Flow, index: int) -> bool:
    """Return whether an event gives the numbers of a right value an order in which axes are mixed up."""
    event, values = flow.events[index], flow.trace.values
    if event.kind != "call" or plain_name(event.name) not in REORDERING or not event.inputs:
        return False
    given, found = event.inputs[0], [values[one].numbers for one in flow.outputs(index)]
    right, numbers = flow.name(given), values[given].numbers
    if right is None or numbers is None or level(numbers) or len(found) != 1 or found[0] is None:
        return False
    return found[0].numel() == numbers.numel() and flow.name(flow.outputs(index)[0]) is None
