"""Finds the write that left wrong numbers in a tensor which is filled bit by bit, number by number."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from grader.places.alignment import alike, plain_name
from grader.places.flow import Flow


@dataclass(frozen=True)
class Written:
    """What became of the numbers that are wrong in the end.

    Attributes:
        event: the last one that wrote one of them, if all that went into it is right.
        never: the last of the writes, where none of these numbers was ever written.
    """

    event: int | None = None
    never: int | None = None


def written_wrongly(flow: Flow, index: int) -> Written:
    """Of an event that writes into a tensor: which of all the writes into this one left wrong numbers there.

    Of any other event: nothing.
    """
    writes = _writes(flow, index)
    if not writes:
        return Written()
    last = flow.trace.values[flow.events[writes[-1]].outputs[0]].numbers
    should = _nearest(flow, writes[-1], last)
    if last is None or should is None:
        return Written()
    wrong = ~alike(last, should, flow.right.close)
    if not wrong.any():
        return Written()
    for one in reversed(writes):
        here = wrong & _changed(flow, one)
        if here.any():
            return Written(one) if _is_given_right(flow, one) else Written()
    return Written(never=writes[-1])


def _is_write(flow: Flow, index: int) -> bool:
    """Return whether an event writes into a part of its first input."""
    event = flow.events[index]
    return event.kind == "call" and plain_name(event.name) == "setitem" and len(event.outputs) == 1


def _writes(flow: Flow, index: int) -> list[int]:
    """An event and all writes before and after it into the same tensor, in order; nothing if it is none."""
    if not _is_write(flow, index):
        return []
    found = [index]
    for one in range(index + 1, len(flow.events)):
        if _is_write(flow, one) and flow.events[one].inputs[:1] == flow.events[found[-1]].outputs:
            found.append(one)
    for one in range(index - 1, -1, -1):
        if _is_write(flow, one) and flow.events[one].outputs == flow.events[found[0]].inputs[:1]:
            found.insert(0, one)
    return found


def _changed(flow: Flow, index: int) -> Tensor:
    """Which numbers a write gave another value."""
    event, values = flow.events[index], flow.trace.values
    before, after = values[event.inputs[0]].numbers, values[event.outputs[0]].numbers
    if before is None or after is None:
        return torch.zeros(values[event.outputs[0]].shape, dtype=torch.bool)
    return before != after


def _is_given_right(flow: Flow, index: int) -> bool:
    """Return whether what is written is right, as far as that is known."""
    makers = [flow.producer(value) for value in flow.events[index].inputs[1:]]
    return all(one is None or flow.is_right(one) is not False or one in flow.vindicated for one in makers)


def _nearest(flow: Flow, index: int, numbers: Tensor | None) -> Tensor | None:
    """The right value that most of a tensor's numbers are those of, and that the run does not have."""
    if numbers is None:
        return None
    near = [one.numbers for one in flow.missing(index) if one.numbers.shape == numbers.shape]
    shares = [float((~alike(numbers, one, flow.right.close)).float().mean()) for one in near]
    best = min(range(len(near)), key=shares.__getitem__, default=None)
    return None if best is None or shares[best] > 1 / 2 else near[best]
