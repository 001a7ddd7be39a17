"""The place of a mistake at the end of a call: a step that is missing there, nothing returned, another dtype."""

from __future__ import annotations

from dataclasses import replace

from grader.core.value_trace import Place
from grader.places.by_values import other_line
from grader.places.flow import Flow, refs
from grader.places.where import Where

MOST_BACK = 4  # lines


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
