"""Finds the place of a mistake in a submission's own lines, by the values on the way to a wrong result.

In the order of data flow, the first value that is not right although all that went into it is, see `Flow`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import torch
from torch import Tensor

from grader.core.value_trace import Event, Place, Ref
from grader.edits.source_tree import Source
from grader.places.alignment import batch_first, equal, hidden, level, plain_name, turned
from grader.places.flow import Flow, refs

DRAWING = frozenset(
    {"bernoulli", "dropout", "multinomial", "normal", "rand", "rand_like", "randint", "randn", "randn_like",
     "randperm", "uniform"}
)  # fmt: skip
OF_LISTS = frozenset({"tensor", "as_tensor", "new_tensor", "Tensor", "FloatTensor"})
VIEWS = frozenset(
    {"chunk", "flatten", "getitem", "movedim", "narrow", "permute", "reshape", "select", "split", "squeeze",
     "transpose", "unbind", "unflatten", "unsqueeze", "view", "view_as"}
)  # fmt: skip
MOST_BACK = 4
MOST_KEPT = 2  # attributes: of more it cannot be said which one is to blame
FEW_LINES = 2  # that only wrong runs have


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
            does, "copied" if it does but what is copied there is wrong too, "alike" if a right run did the same with
            the same values and got something else, "narrow" if hardly any other line has wrong lists or numbers,
            "layouts" if what meets there has layouts that do not go together, "dtype" if only the dtype is wrong,
            which changed at one of the two lines or should have, or "".
        alone: no other line has wrong values.
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
    alone: bool = False
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


def foreign(source: Source, names: Sequence[str]) -> Where | None:
    """The line where a part was made whose parameters do not belong to the class. Args: names: of such parameters."""
    for name in names:
        line = next(iter(source.attributes.get(name.partition(".")[0], ())), None)
        if line is not None:
            said = f"`self.{name}` is a parameter that the formula does not have, or of another shape"
            return Where(Place(line, line), "value", value=said, expected="the parameters of the formula")
    return None


def cut_off(flow: Flow) -> int | None:
    """The first event that a gradient does not come through, outside of a `forward` with its own `backward`.

    Not of a constructor, or of what one calls: first values of weights are made there.
    """
    values = flow.trace.values
    for index, event in enumerate(flow.events):
        if event.kind != "call" or not any(values[v].requires_grad for v in event.inputs):
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


def discarded(flow: Flow) -> Where | None:
    """Dropout whose result nothing gets."""
    for index, event in enumerate(flow.events):
        lost = flow.reaching and index not in flow.reaching and not {*event.outputs} & {*event.inputs}
        if lost and plain_name(event.name) == "dropout":
            said, right = "nothing gets the value of this line", "a value that the result is made of"
            other = next(iter(flow.source.assigned(event.place.line)), None)
            return Where(event.place, "omitted", other, value=said, expected=right, evidence="alike")
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
    for i, event in enumerate(flow.events):
        if given & {*event.inputs[:1]}:
            if event.changed:
                return i
            if event.kind == "call" and plain_name(event.name) in VIEWS:  # a part of it, in the same memory
                given.update(event.outputs)
    return None


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
    other = elsewhere_right(flow, index) or _odd(flow, index) or _made_in(flow, index)
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


def elsewhere_right(flow: Flow, index: int) -> int | None:
    """The calling line, the innermost that differs, where the same expression is right for another call."""
    event = flow.events[index]
    for one, other in enumerate(flow.events):
        if other.place == event.place and (flow.agrees(one) or flow.is_right(one)):
            line = next((a for a, b in zip_longest(event.callers, other.callers) if a != b), None)
            if line is not None:
                return line
    return None


def _odd(flow: Flow, index: int) -> int | None:
    """The line where something that goes into an event, and is not what should, got its name, or else was made."""
    event = flow.events[index]
    names = {node.id for node in flow.source.reads(event.place) if isinstance(node, ast.Name)}
    for value in [value for value, _ in flow.odd_inputs(index)] or flow.unlike(index):
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
            lines.append(_seen_from(flow, producer, event.frame))
        found = next((line for line in lines if line != event.place.line), None)
        if found is not None:
            return found
    return None


def _seen_from(flow: Flow, index: int, frame: int) -> int:
    """The line of an event; of one in a function that gave what it should, the line that called this function."""
    event = flow.events[index]
    inside = event.frame != frame and event.callers and index in flow.vindicated
    return event.callers[0] if inside else event.place.line


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
    made = (_seen_from(flow, one, event.frame) for one in producers if one is not None)
    return next(made, event.place.line)


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


def unused(line: int) -> Where:
    """The place of a statement whose value nothing gets."""
    said, right = "nothing gets the value of this line", "a `return`, or a name for it"
    return Where(Place(line, line), "omitted", value=said, expected=right)


def idle(source: Source, ran: Collection[int]) -> Where | None:
    """A line where nothing is done, or nothing decided: the first in functions that ran."""
    for line, code in source.idle(ran):
        if code == "pass":
            return Where(Place(line, line), "omitted", value="nothing is done here", expected="another step")
        value = f"`{code}` decides nothing: it is always the same"
        return Where(Place(line, line), "value", value=value, expected="a condition")
    return None


def unread(source: Source, ran: Collection[int]) -> Where | None:
    """A line with a local that nothing reads; the next one most likely should."""
    found = source.unread(ran)
    if found is None:
        return None
    name, line, after = found
    said, right = f"nothing reads `{name}`", f"a step that reads `{name}`"
    return Where(Place(line, line), "omitted", after, value=said, expected=right)


def kept(source: Source, ran: Collection[int]) -> Where | None:
    """Lines where something is kept in the module from one call to the next."""
    found = source.state(ran)
    if not found or len({name for _, name in found}) > MOST_KEPT:
        return None
    (line, name), *others = found
    said = f"`{name}` is kept from one call to the next"
    return Where(
        Place(line, line), "value", others[-1][0] if others else None, value=said, expected="no state"
    )


def unregistered(source: Source) -> Where | None:
    """Lines where parts come into an object that is no module, so that the module does not know of them."""
    if not source.hidden_parts:
        return None
    (line, name), *others = source.hidden_parts
    said = f"`{name}` is no module: the parts that it holds are not registered"
    other = others[0][0] if others else None
    return Where(Place(line, line), "value", other, value=said, expected="an attribute for each part")


def only_wrong(source: Source, lines: Sequence[int], best: Where | None) -> Where | None:
    """A line that runs only where the result is wrong, if there are few, or the first and the last one of one block.

    Args:
        source: the file.
        lines: that run only there.
        best: the place by values, which prove nothing; its line comes first if it is one of a few.
    """
    if not lines or (len(lines) > FEW_LINES and not source.is_block(lines)):
        return None
    known = [one for one in (best.lines if best else ()) if one in lines and len(lines) <= FEW_LINES]
    line, *others = dict.fromkeys([*known, *lines])
    said = "this line runs only in cases that come out wrong"
    if len(lines) > FEW_LINES:
        said = f"lines {line} to {others[-1]} run only in cases that come out wrong"
    other = others[-1] if others else None
    return Where(Place(line, line), "value", other, value=said, expected="another step")


def overwritten(source: Source, ran: Collection[int]) -> Where | None:
    """A line that gives an argument another value before anything has read it."""
    found = source.overwritten(ran)
    if found is None:
        return None
    name, line = found
    said, right = f"`{name}` gets another value before anything has read it", f"a step that reads `{name}`"
    return Where(Place(line, line), "value", value=said, expected=right)


def not_returned(flow: Flow) -> Where | None:
    """The end of the function that gives nothing back."""
    begun = [one for one in flow.events if one.kind == "given" and not one.callers and one.name != "__init__"]
    line = flow.source.last_line(begun[-1].place.line) if begun else None
    return None if line is None else Where(Place(line, line), "omitted", begun[-1].place.line)


def never_dropped(flow: Flow) -> Where | None:
    """Dropout that a right run has and this one has nowhere: between the value it is for, and what takes that."""
    if any(_draws(flow, event) for event in flow.events):
        return None
    for right in flow.right.calls.get("dropout", []):
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


def at_the_end(flow: Flow) -> Where | None:
    """All values are right, but not the last one: what is missing would come last."""
    ends = [i for i, one in enumerate(flow.events) if one.kind == "return" and not one.callers and one.result]
    if not ends:
        return not_returned(flow)
    at = _innermost(flow, ends[-1])
    end, outermost = flow.events[at], flow.events[ends[-1]]
    left = flow.source.left_by(end.place.line, flow.trace.ran)
    if left is not None:
        return Where(Place(left, left), "omitted", other_line(flow, at), event=at)
    lines = [i for i in range(at) if flow.events[i].frame == end.frame and flow.events[i].kind == "line"]
    if end is not outermost or not lines:
        other = outermost.place.line if end is not outermost else other_line(flow, at)
        return Where(end.place, "omitted", other, event=at)
    last = flow.events[lines[-1]]
    if any(e.kind == "call" and e.place.line == end.place.line and e.frame == end.frame for e in flow.events):
        return Where(end.place, "omitted", last.place.line, event=at)
    computed = any(
        e.kind == "call" and last.place.line in (e.place.line, *e.callers[:1]) for e in flow.events
    )
    other = None if computed else other_line(flow, lines[-1])
    return Where(last.place, "omitted", other or end.place.line, event=lines[-1])


def drawn(flow: Flow, *, facts: bool) -> int | None:
    """The first event that draws random numbers as no right run does: for another value, with another probability.

    What draws and changes nothing, dropout in eval mode, counts for nothing. All before it is right.

    Args:
        facts: only what is said of random numbers is wrong, so that what comes before is not asked.
    """
    first = None if facts else first_wrong(flow)
    meant = [
        call
        for name in DRAWING
        for call in flow.right.calls.get(name, [])
        if not (call.inputs and equal(call.inputs[0], call.output.numbers, flow.right.close))
    ]
    for index, event in enumerate(flow.events[: None if first is None else first + 1]):
        if not _draws(flow, event) or not event.outputs or index not in flow.reaching:
            continue
        if not event.inputs:  # numbers by themselves, `torch.rand(shape)`: no right run has any
            return index
        value, result = (flow.trace.values[v].numbers for v in (event.inputs[0], event.outputs[0]))
        if value is None or result is None or torch.equal(value, result):
            continue
        fits = [
            call for call in meant if call.inputs and equal(hidden(value), call.inputs[0], flow.right.close)
        ]
        if not any(_fractions(call.arguments) == _fractions(event.arguments) for call in fits):
            return index
    return None


def applied(flow: Flow, index: int) -> int | None:
    """The line where random numbers that were drawn in another one meet what they are for."""
    for later in range(index + 1, len(flow.events)):
        event = flow.events[later]
        if event.kind == "call" and len(event.inputs) > 1 and index in flow.ancestors(later):
            return event.place.line if event.place.line != flow.events[index].place.line else None
    return None


def _draws(flow: Flow, event: Event) -> bool:
    """Whether an event draws random numbers, other than a parameter's first values."""
    name = event.name.rstrip("_")  # `__rand__` is an `&`
    return event.kind == "call" and name in DRAWING and event.frame not in flow.constructors


def _fractions(arguments: str) -> set[str]:
    """Probabilities in arguments, as text."""
    return set(re.findall(r"\b0?\.\d+", arguments))


def converted(flow: Flow) -> Where | None:
    """Where right numbers have another dtype: the end, and the last line on the way there that changed the dtype."""
    found, values = at_the_end(flow), flow.trace.values
    ends = [one for one in flow.events if one.kind == "return" and not one.callers and one.result]
    left = [ref.value for item in ends[-1].result for ref in refs(item)] if ends else []
    while found is not None and left:
        value = left[0]
        producer = flow.producer(value)
        if producer is None:
            break
        line = flow.events[producer].place.line
        kind = "float" if "float" in values[value].dtype else "int"
        left = [one for one in flow.events[producer].inputs if one < value and kind in values[one].dtype]
        end = ends[-1].place.line  # where the way back may be missing, if a conversion is meant
        place = found.place if found.place.line == end else Place(end, end)
        wide = [one for one in left if values[one].dtype == values[value].dtype]
        if wide and len(wide) < len(left):  # one operand has given its dtype to the result
            lines = flow.lines_back(wide[0], MOST_BACK)
            # where the attribute gets its value, which is not converted with its module
            made = [at for at in flow.source.made(found.place.line) if flow.source.functions([at]) & {*lines}]
            return replace(
                found, place=place, other=made[0] if made else _begins(flow, wide[0]), evidence="dtype"
            )
        if any(values[one].dtype != values[value].dtype for one in left) and line != found.place.line:
            return replace(found, place=place, other=line, evidence="dtype")
    return found


def _begins(flow: Flow, value: int) -> int | None:
    """The line where a chain of values of one dtype begins: what made the first of them, or converted it."""
    values, line = flow.trace.values, None
    while (producer := flow.producer(value)) is not None:
        line = flow.events[producer].place.line
        alike = [one for one in flow.events[producer].inputs if values[one].dtype == values[value].dtype]
        before = [one for one in alike if one < value]
        if not before:
            break
        value = before[0]
    return line


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
