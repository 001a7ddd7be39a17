"""Says beside each line of a file what it computed: names, shapes, and which right value that is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.core.value_trace import Event, Odd, Plain, Ref, ValueTrace
from grader.places.alignment import RightValues

MOST_SHAPES = 2  # of one name, where a line runs several times
MOST_NAMES = 4  # of one line
MOST_TEXT = 24  # of a plain value
MADE = "empty"  # how modules make parameters, before they are initialized


@dataclass(frozen=True)
class Note:
    """What one line did.

    Attributes:
        line: its number, from 1.
        values: one text per value, "scores [2, 4, 5, 5] = scaled scores".
        times: how often it ran.
    """

    line: int
    values: tuple[str, ...]
    times: int = 1


def notes(trace: ValueTrace, names: RightValues | None = None) -> dict[int, Note]:
    """Return what each line computed, by its number.

    Args:
        trace: what ran.
        names: the right values of the same call, which have names; None where there are none.
    """
    found: dict[int, dict[str, list[str]]] = {}
    times: dict[int, int] = {}
    named: set[int] = set()  # values that a local has
    for event in trace.events:
        if event.kind in ("given", "line", "return"):
            line = event.place.line
            times[line] = times.get(line, 0) + 1
            for name, item in _items(event):
                found.setdefault(line, {}).setdefault(name, []).append(_described(item, trace, names))
                named |= set(_values(item))
    for event in trace.events:  # what no local has: an attribute, a part of a longer line
        line = event.place.line
        if event.kind == "call" and line not in found and event.name != MADE:
            value = event.outputs[0] if event.outputs else None
            if value is not None and value not in named:
                found[line] = {event.name: [_shape(value, trace, names)]}
    return {line: Note(line, _texts(values), times.get(line, 1)) for line, values in found.items()}


def _items(event: Event) -> Iterable[tuple[str, Plain]]:
    """Locals that an event changed, and what it returned."""
    for name, item in event.names.items():
        if name not in ("self", "cls") and not isinstance(item, Odd):
            yield name, item
    if event.kind == "return" and event.result and event.result[0] is not None:
        yield "returns", event.result[0]


def _values(item: Plain) -> Iterable[int]:
    if isinstance(item, Ref):
        yield item.value
    elif isinstance(item, list):
        for one in item:
            yield from _values(one)


def _described(item: Plain, trace: ValueTrace, names: RightValues | None) -> str:
    if isinstance(item, Ref):
        return _shape(item.value, trace, names)
    if isinstance(item, list) and any(isinstance(one, Ref) for one in item):
        inner = [_described(one, trace, names) for one in item[:MOST_NAMES]]
        return f"({', '.join(inner)}{', ...' if len(item) > MOST_NAMES else ''})"
    if isinstance(item, Odd):
        return item.type_name
    text = f"{item:.6g}" if isinstance(item, float) else repr(item)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}..."


def _shape(value: int, trace: ValueTrace, names: RightValues | None) -> str:
    """A tensor's shape, its dtype where that is not float32, and its name where it is a right value."""
    found = trace.values[value]
    dtype = "" if found.dtype in ("float32", "torch.float32") else f" {found.dtype.removeprefix('torch.')}"
    right = None if names is None or found.numbers is None else names.find(found.numbers)
    name = f" = {right.name}" if right is not None and right.name else ""
    return f"{list(found.shape)}{dtype}{name}"


def _texts(values: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """One text per name; where a line ran several times, the first and the last of what it gave."""
    texts = []
    for name, each in values.items():
        different = list(dict.fromkeys(each))
        shown = different if len(different) <= MOST_SHAPES else [different[0], "...", different[-1]]
        texts.append(f"{name} {', '.join(shown)}")
    left = len(texts) - MOST_NAMES
    return (*texts[:MOST_NAMES], *([f"{left} more"] if left > 0 else []))
