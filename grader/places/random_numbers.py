"""The place of a mistake in what is random: dropout that is missing, unused, drawn or applied as in no right run."""

from __future__ import annotations

import re

import torch

from grader.core.value_trace import Event
from grader.places.alignment import RightCall, equal, hidden, plain_name
from grader.places.by_values import first_wrong
from grader.places.flow import Flow
from grader.places.where import Where

DRAWING = frozenset(
    {"bernoulli", "dropout", "multinomial", "normal", "rand", "rand_like", "randint", "randn", "randn_like",
     "randperm", "uniform"}
)  # fmt: skip


def discarded(flow: Flow) -> Where | None:
    """Dropout whose result nothing gets."""
    for index, event in enumerate(flow.events):
        lost = flow.reaching and index not in flow.reaching and not {*event.outputs} & {*event.inputs}
        if lost and event.kind == "call" and plain_name(event.name) == "dropout":
            said, right = "nothing gets the value of this line", "a value that the result is made of"
            other = next(iter(flow.source.assigned(event.place.line)), None)
            return Where(event.place, "omitted", other, value=said, expected=right, evidence="alike")
    return None


def never_dropped(flow: Flow) -> Where | None:
    """Dropout that a right run has and this one has nowhere: between the value it is for, and what takes that."""
    if any(_draws(flow, event) and not _changes_nothing(flow, event) for event in flow.events):
        return None
    for right in _meant(flow, "dropout"):
        for index, event in enumerate(flow.events):
            for value in event.inputs if event.kind == "call" and index in flow.reaching else ():
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


def drops_nothing(flow: Flow) -> Where | None:
    """Dropout that gives back what it gets, where a right run drops some of it."""
    for index, event in enumerate(flow.events):
        if event.kind != "call" or plain_name(event.name) != "dropout" or not _changes_nothing(flow, event):
            continue
        numbers = flow.trace.values[event.inputs[0]].numbers
        assert numbers is not None
        for right in _meant(flow, "dropout"):
            if right.inputs and equal(hidden(numbers), right.inputs[0], flow.right.close):
                other = flow.source.made_around(event.place) or next(iter(event.callers), None)
                said, meant = "dropout that drops nothing here", "some of the numbers dropped"
                return Where(
                    event.place, "value", other, value=said, expected=meant, event=index, evidence="alike"
                )
    return None


def drawn(flow: Flow, *, facts: bool) -> int | None:
    """The first event that draws random numbers as no right run does: for another value, with another probability.

    What draws and changes nothing, dropout in eval mode, counts for nothing. All before it is right.

    Args:
        facts: only what is said of random numbers is wrong, so that what comes before is not asked.
    """
    first = None if facts else first_wrong(flow)
    meant = [call for name in DRAWING for call in _meant(flow, name)]
    for index, event in enumerate(flow.events[: None if first is None else first + 1]):
        if not _draws(flow, event) or not event.outputs or index not in flow.reaching:
            continue
        if not event.inputs:  # numbers by themselves, `torch.rand(shape)`: no right run has any
            return index
        value, result = (flow.trace.values[v].numbers for v in (event.inputs[0], event.outputs[0]))
        if value is None or result is None or _changes_nothing(flow, event):
            continue
        fits = [
            call for call in meant if call.inputs and equal(hidden(value), call.inputs[0], flow.right.close)
        ]
        if not any(_fractions(call.arguments) == _fractions(event.arguments) for call in fits):
            return index
    return None


def shared(flow: Flow, index: int) -> bool:
    """Whether random numbers that a helper has drawn are used in several places: its call is to blame."""
    own, uses = {*flow.events[index].outputs}, 0
    for event in flow.events[index + 1 :]:
        if event.kind != "call" or not own & {*event.inputs}:
            continue
        if own >= {*event.inputs}:
            own |= {*event.outputs}
        else:
            uses += 1
    return bool(flow.events[index].callers) and uses > 1


def applied(flow: Flow, index: int) -> int | None:
    """The line where random numbers that were drawn in another one meet what they are for; the one that made their
    sizes, where that has more numbers."""
    line, drawn_there = (
        flow.events[index].place.line,
        flow.trace.values[flow.events[index].outputs[0]].numbers,
    )
    for later in range(index + 1, len(flow.events)):
        event = flow.events[later]
        if event.kind == "call" and len(event.inputs) > 1 and index in flow.ancestors(later):
            sizes = [x.numel() for one in event.inputs if (x := flow.trace.values[one].numbers) is not None]
            fewer = drawn_there is not None and max(sizes, default=0) > drawn_there.numel()
            made = next(iter(flow.source.assigned(line)), None) if fewer else None
            return made or (event.place.line if event.place.line != line else None)
    return None


def _draws(flow: Flow, event: Event) -> bool:
    """Whether an event draws random numbers, other than a parameter's first values."""
    name = event.name.rstrip("_")  # `__rand__` is an `&`
    return event.kind == "call" and name in DRAWING and event.frame not in flow.constructors


def _changes_nothing(flow: Flow, event: Event) -> bool:
    """Whether an event gives the numbers that it gets; False if it is not known."""
    if not event.inputs or not event.outputs:
        return False
    value, result = (flow.trace.values[v].numbers for v in (event.inputs[0], event.outputs[0]))
    return value is not None and result is not None and torch.equal(value, result)


def _meant(flow: Flow, name: str) -> list[RightCall]:
    """The calls of a function in right runs that change what they get."""
    calls = flow.right.calls.get(name, [])
    return [
        one for one in calls
        if not (one.inputs and equal(one.inputs[0], one.output.numbers, flow.right.close))
    ]  # fmt: skip


def _fractions(arguments: str) -> set[str]:
    """Probabilities in arguments, as text."""
    return set(re.findall(r"\b0?\.\d+", arguments))
