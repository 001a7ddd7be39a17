"""Finds the place of a mistake in a submission's own lines, by the values on the way to a wrong result.

In the order of data flow, the first value that is not right although all that went into it is, see `Flow`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from itertools import zip_longest

import torch
from torch import Tensor

from grader.core.value_trace import Event, Place, Ref
from grader.places.alignment import plain_name
from grader.places.flow import Flow, refs
from grader.places.turned import turned_at
from grader.places.where import Where

OF_LISTS = frozenset({"tensor", "as_tensor", "new_tensor", "Tensor", "FloatTensor"})
VIEWS = frozenset(
    {"chunk", "flatten", "getitem", "movedim", "narrow", "permute", "reshape", "select", "split", "squeeze",
     "transpose", "unbind", "unflatten", "unsqueeze", "view", "view_as"}
)  # fmt: skip
JOINING = frozenset({"stack", "cat"})
MOST_BACK = 4  # events


def first_wrong(flow: Flow) -> int | None:
    """The event to blame for a wrong value."""
    suspects = flow.suspects()
    reaching = [one for one in suspects if one in flow.reaching or not flow.reaching]
    if (
        reaching
        and plain_name(flow.events[reaching[0]].name) in OF_LISTS
        and not flow.events[reaching[0]].inputs
    ):
        plain = [one for one in suspects if one < reaching[0] and flow.events[one].kind in ("line", "return")]
        return plain[0] if plain else reaching[0]  # how numbers came into the list is not recorded
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
    """The first event that a gradient does not come through, outside of a `forward` with its own `backward`.

    Not of a constructor, or of what one calls: first values of weights are made there.
    """
    values = flow.trace.values
    for index, event in enumerate(flow.events):
        if event.kind != "call" or not any(values[v].requires_grad for v in event.inputs):
            continue
        if event.name.startswith("new_") or event.name.endswith("_like"):  # new numbers, of this shape
            continue
        if any(map(flow.source.in_constructor, (event.place.line, *event.callers))):
            continue
        if any(event.place.line in lines for _, lines, _ in flow.source.differentiated):
            continue
        outputs = [values[v] for v in flow.outputs(index)]
        if event.result or any(
            not v.requires_grad and v.dtype.startswith(("float", "bfloat")) for v in outputs
        ):
            return index
    return None


def first_nan(flow: Flow) -> int | None:
    """The first event that gives NaN where nothing of what went into it was: its gradient is NaN, too, whatever comes
    after it."""
    values = flow.trace.values
    for index, event in enumerate(flow.events):
        numbers = [values[one].numbers for one in (*flow.outputs(index), *event.inputs)]
        odd = [one is not None and bool(one.isnan().any()) for one in numbers]
        made = len(flow.outputs(index))
        if event.kind == "call" and any(odd[:made]) and not any(odd[made:]):
            return index
    return None


def own_backward(flow: Flow, message: str = "") -> Where | None:
    """The `return` of a `backward` of the file's own whose `forward` ran.

    Args:
        message: of an error; if there is one, it has to name the class.
    """
    ran = {event.place.line for event in flow.events}
    found = [
        (name, line)
        for name, lines, line in flow.source.differentiated
        if ran & {*lines} and (not message or f"{name}Backward" in message)
    ]
    if not found:
        return None
    (name, line), *others = found
    said = f"the gradient that `{name}.backward` returns"
    expected = f"the derivative of `{name}.forward`"
    other = others[0][1] if others else next(iter(flow.source.assigned(line)), None)
    return Where(Place(line, line), "gradient", other, value=said, expected=expected, evidence="narrow")


def written(flow: Flow) -> int | None:
    """The first event that changed an argument in place."""
    given = {
        ref.value
        for event in flow.events
        if event.kind == "given" and not event.callers
        for item in event.names.values()
        for ref in refs(item)
    }
    for i, event in enumerate(flow.events):
        if given & {*event.inputs[:1]}:
            if event.changed:
                return i
            if event.kind == "call" and plain_name(event.name) in VIEWS:  # a part of it, in the same memory
                given.update(event.outputs)
    return None


def place_of(flow: Flow, index: int, why: str, seen: int | None = None) -> Where:
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
    other = (
        elsewhere_right(flow, index) or _odd(flow, index) or number_read(flow, index) or _made_in(flow, index)
    )
    if other is None and seen is not None and flow.events[seen].place.line != event.place.line:
        other = flow.events[seen].place.line
    other = other or turned_at(flow, index, event.inputs) or other_line(flow, index)
    left = flow.source.left_by(event.place.line, flow.trace.ran) if event.kind == "return" else None
    place = event.place if left is None else Place(left, left)
    return Where(place, why, other, event.callers, last, event=index, iteration=_iteration(flow, index))


def _iteration(flow: Flow, index: int) -> int | None:
    """Which run of its expression an event is, if those before it gave nothing wrong; None for the first."""
    event = flow.events[index]
    before = [
        i
        for i, one in enumerate(flow.events[:index])
        if (one.kind, one.name, one.place) == (event.kind, event.name, event.place)
    ]
    return len(before) + 1 if before and not any(flow.is_right(i) is False for i in before) else None


def elsewhere_right(
    flow: Flow, index: int, is_mistaken: Callable[[int], bool] = lambda _index: False
) -> int | None:
    """The calling line, the innermost that differs, where the same expression is right for another call.

    Args:
        is_mistaken: whether what another event gives is known to be wrong.
    """
    event = flow.events[index]
    for one, other in enumerate(flow.events):
        if other.place == event.place and (flow.agrees(one) or flow.is_right(one)) and not is_mistaken(one):
            line = next((a for a, b in zip_longest(event.callers, other.callers) if a != b), None)
            if line is not None:
                return line
    return None


def _odd(flow: Flow, index: int) -> int | None:
    """The line where something that goes into an event, and is not what should, got its name, or else was made."""
    event = flow.events[index]
    names = {node.id for node in flow.source.reads(event.place) if isinstance(node, ast.Name)}
    for value in (
        [value for value, _ in flow.odd_inputs(index)] or flow.unlike(index) or _odd_pieces(flow, index)
    ):
        lines = [
            before.place.line
            for before in reversed(flow.events[:index])
            if before.frame == event.frame
            and before.kind == "line"
            and any(Ref(value) in refs(before.names[name]) for name in names & set(before.names))
        ]
        producer = flow.producer(value)
        if producer is not None:
            lines += _returned(flow, index, value) if flow.name(value) is not None else []
            lines.append(_seen_from(flow, producer, event))
        found = next((line for line in lines if line != event.place.line), None)
        if found is not None:
            return found
    return None


def _odd_pieces(flow: Flow, index: int) -> list[int]:
    """What an event joins, as `stack` and `cat` do, and is not a piece of the right value that it mostly gives."""
    event, values = flow.events[index], flow.trace.values
    if plain_name(event.name) not in JOINING or len(event.inputs) < 2 or not event.outputs:
        return []
    joined = values[event.outputs[0]].numbers
    pieces = [one for value in event.inputs if (one := values[value].numbers) is not None]
    if joined is None or len(pieces) < len(event.inputs):
        return []
    for right in (one.numbers for one in flow.right.values if one.numbers.shape == joined.shape):
        for dim in range(joined.dim()) if 2 * int((right == joined).sum()) > joined.numel() else ():
            sizes = [one.size(dim) if one.dim() == joined.dim() else 1 for one in pieces]
            if sum(sizes) == joined.size(dim):
                pairs = zip(right.split(sizes, dim), joined.split(sizes, dim), strict=True)
                odd = [
                    value for value, (a, b) in zip(event.inputs, pairs, strict=True) if not torch.equal(a, b)
                ]
                if len(odd) < len(pieces):
                    return odd
    return []


def number_read(flow: Flow, index: int) -> int | None:
    """Of an event to which right values go: the line where a number that it reads, too, got its name."""
    event = flow.events[index]
    producers = [flow.producer(value) for value in event.inputs]
    if (
        event.kind != "call"
        or not producers
        or not all(one is not None and flow.is_right(one) for one in producers)
    ):
        return None
    names = {node.id for node in flow.source.reads(event.place) if isinstance(node, ast.Name)}
    lines = (
        before.place.line
        for before in reversed(flow.events[:index])
        if before.frame == event.frame and before.kind == "line"
        if any(isinstance(before.names.get(name), (int, float)) for name in names)
    )
    return next((line for line in lines if line != event.place.line), None)


def _seen_from(flow: Flow, index: int, event: Event) -> int:
    """The line of an event, as a later one in another function has to do with it: where that was called with what it
    gave; of one in a function that gave what it should, the line that called this function."""
    made = flow.events[index]
    if made.frame == event.frame or index not in flow.vindicated:
        return made.place.line
    inner, outer = len(event.callers), len(made.callers)
    if inner > outer and event.callers[inner - outer :] == made.callers:
        return event.callers[inner - outer - 1]
    return made.callers[0] if made.callers else made.place.line


def _returned(flow: Flow, index: int, value: int) -> list[int]:
    """The `return` of the helper that gave a value which is right somewhere else."""
    return [
        one.place.line
        for one in reversed(flow.events[:index])
        if one.kind == "return" and one.callers[:1] == (flow.events[index].place.line,)
        if Ref(value) in refs(list(one.result))
    ]


def completed(flow: Flow, found: Where, line: int | None) -> Where:
    """The same with a second line: that of the error, the last right one, or where the function begins."""
    if found.other is not None or found.event is None:
        return found
    event = flow.events[found.event]
    begin = next(e.place.line for e in flow.events if e.frame == event.frame)
    lines = [line, found.last_right[0] if found.last_right else None, begin]
    return replace(found, other=next((one for one in lines if one and one != found.place.line), None))


def _made_in(flow: Flow, index: int) -> int | None:
    """The line where an attribute, a constant or a list of the expression was made, or a helper that is wrong."""
    event = flow.events[index]
    reads = list(flow.source.reads(event.place))
    attributes = [node.attr for node in reads if isinstance(node, ast.Attribute)]
    made = [flow.source.attribute(name, event.place.line) for name in attributes]
    names = [node.id for node in reads if isinstance(node, ast.Name)]
    made += [flow.source.constants.get(name) for name in names]
    helpers = [one for one in flow.inputs[index] if flow.events[one].kind == "return"]
    made += [flow.events[one].place.line for one in helpers if one not in flow.vindicated]
    if plain_name(event.name) in OF_LISTS:
        made.append(flow.source.listed(event.place.line))
    return next((line for line in made if line is not None and line != event.place.line), None)


def other_line(flow: Flow, index: int) -> int | None:
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
    """The line where a local's value was made: in a helper, if one gave it, and is not right."""
    producers = [flow.producer(ref.value) for ref in refs(event.names[name])]
    made = (_seen_from(flow, one, event) for one in producers if one is not None)
    return next(made, event.place.line)
