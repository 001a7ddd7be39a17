"""Finds the place of an exception: the line that raised it, and the one with what it was raised for."""

from __future__ import annotations

import ast
import re
from collections import Counter

from grader.core.value_trace import Odd, Place, Plain, Ref
from grader.edits.source_tree import Source
from grader.places.by_values import other_line
from grader.places.flow import Flow, refs
from grader.places.turned import turned_at
from grader.places.unknown_names import unknown
from grader.places.where import Where

MOST_STEPS = 8  # back to where a dtype comes from
MOST_BEHIND = 6  # lines behind an exception


def exception(flow: Flow, line: int) -> int | None:
    """The event of the exception that was raised in a line."""
    found = [i for i, one in enumerate(flow.events) if one.kind == "exception" and one.place.line == line]
    return found[-1] if found else None


def raised(flow: Flow, line: int, message: str = "") -> Where:
    """The place of an exception: its line, and the calling one or one that has a share in it."""
    index = exception(flow, line)
    if index is None:
        source = flow.source
        made = [*source.assigned(line), *source.made(line)]
        other = _condition(source, line, set()) or next(iter(made), None)
        return Where(Place(line, line), "error", other)
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
    other = cause(flow, index, message) or _signature(flow.source, event.place.line, message)
    other = other or _unmade(flow.source, line, message) or _condition(flow.source, line, names)
    other = other or turned_at(flow, index, values)
    other = other or _not_right(flow, [*flow.source.assigned(line), *flow.source.made(line)])
    other = other or other_line(flow, index)
    return Where(event.place, "error", other, event.callers, value=value, expected=expected)


def _not_right(flow: Flow, lines: list[int]) -> int | None:
    """The first of the lines that gave no right value; the first of all if all did."""
    right = {event.place.line for i, event in enumerate(flow.events) if flow.is_right(i)}
    return next((one for one in lines if one not in right), next(iter(lines), None))


def cause(flow: Flow, index: int, message: str) -> int | None:
    """The line behind an exception, as far as its message says where that is."""
    event = flow.events[index]
    return (
        flow.source.decided([event.place.line, *event.callers])
        or flow.source.renamed(event.place.line)
        or _unfit(flow, index, message)
        or _indexed(flow, index, message)
        or _unfit_attribute(flow.source, event.place.line, message)
        or _handed_over(flow, index, message)
        or unregistered(flow.source, event.place.line, message)
        or _other_dtype(flow, index, message)
        or _of_argument(flow, index, message)
        or _from_earlier(flow, index)
    )


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


def _unfit_attribute(source: Source, line: int, message: str) -> int | None:
    """The line that gave `self` what an operator cannot work with: "unsupported operand type(s) for *: 'Tensor' and
    'NoneType'"."""
    found = re.search(r"operand type\(s\) for .+: '(\w+)' and '(\w+)'", message)
    names = [] if found is None else source.operands(line, [kind != "Tensor" for kind in found.groups()])
    return next((at for name in names if (at := source.stored(name)) is not None), None)


def _indexed(flow: Flow, index: int, message: str) -> int | None:
    """The line that made what its index does not fit: "too many indices for tensor of dimension 1", "out of bounds"."""
    event = flow.events[index]
    names: set[str] = set()
    if "too many indices" in message or "out of bounds" in message:
        names = flow.source.indexed(event.place.line)
    for before in reversed(flow.events[:index]):
        made = names & flow.source.given_a_value(before.place.line)  # not only written to
        if before.frame == event.frame and before.kind == "line" and made & set(before.names):
            return before.place.line
    return None


def _handed_over(flow: Flow, index: int, message: str) -> int | None:
    """The `return` of the helper that gave too many or too few values: "too many values to unpack (expected 2)"."""
    if "values to unpack" not in message and "cannot unpack" not in message:
        return None
    event, lines = flow.events[index], flow.source.span(flow.events[index].place.line)
    return next(
        (
            before.place.line
            for before in reversed(flow.events[:index])
            if before.kind == "return" and before.callers[:1] and before.callers[0] in lines
            if before.frame != event.frame and before.place.line not in lines
        ),
        None,
    )


def _of_argument(flow: Flow, index: int, message: str) -> int | None:
    """The call of the helper whose argument has not the attribute that is read of it."""
    event, found = flow.events[index], re.search(r"has no attribute '(\w+)'", message)
    given = flow.source.arguments(event.place.line)
    read = [
        node.value.id
        for node in flow.source.reads(event.place)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and found
        and node.attr == found[1]
    ]
    return next(iter(event.callers), None) if set(given) & set(read) else None


def unregistered(source: Source, line: int, message: str) -> int | None:
    """The line that gave `self` a plain tensor, which stays as it is where the module is converted or moved."""
    if not re.search("dtype|scalar type|same device", message):
        return None
    plain = [at for at in source.on_default_device if source.in_constructor(at)]
    return next((at for at in source.made(line) if at in plain), None)


def _other_dtype(flow: Flow, index: int, message: str) -> int | None:
    """The line that made an operand of another dtype than the arguments', or the others', where dtypes do not fit."""
    failed, values = flow.failed(index), flow.trace.values
    if failed is None or not re.search("dtype|scalar type", message):
        return None
    inputs = [one for one in flow.events[failed].inputs if "float" in values[one].dtype]
    begun = [event for event in flow.events if event.kind == "given" and not event.callers]
    given = {values[ref.value].dtype for one in begun for item in one.names.values() for ref in refs(item)}
    counts = Counter(values[one].dtype for one in inputs)
    if any("float" in dtype for dtype in given):
        odd = [one for one in inputs if values[one].dtype not in given]
    else:
        odd = [one for one in inputs if counts[values[one].dtype] == 1 and len(inputs) > 2]
    line = None
    for _ in range(MOST_STEPS):
        producer = flow.producer(odd[0]) if odd else None
        if producer is None:
            break
        line = flow.events[producer].place.line
        dtype = values[odd[0]].dtype
        odd = [one for one in flow.events[producer].inputs if one < odd[0] and values[one].dtype == dtype]
    return line


def _signature(source: Source, line: int, message: str) -> int | None:
    """The line of the file's own function whose signature a call does not fit."""
    called = misfitting(source, message)
    return None if called is None or called.place.line == line else called.place.line


def _from_earlier(flow: Flow, index: int) -> int | None:
    """The `return` of the earlier call that gave what a line reads of its arguments: a cache."""
    event = flow.events[index]
    names = {node.id for node in flow.source.reads(event.place) if isinstance(node, ast.Name)}
    begun = [one for one in flow.events[:index] if one.kind == "given" and one.frame == event.frame]
    given = {ref.value for one in begun for name in names & set(one.names) for ref in refs(one.names[name])}
    return next(
        (
            before.place.line
            for before in reversed(flow.events[:index])
            if before.kind == "return" and not before.callers
            if given & {ref.value for ref in refs(list(before.result))}
        ),
        None,
    )


def _type_name(item: Plain) -> str:
    if isinstance(item, Ref):
        return "Tensor"
    return item.type_name if isinstance(item, Odd) else type(item).__name__


def _condition(source: Source, line: int, names: set[str]) -> int | None:
    """The line of the condition that lets an exception be raised, looks at the same names, or at nothing."""
    for at, read in source.tests(line):
        if at != line and (source.guards(line) or names & read or not read):
            return at
    return None


def _unmade(source: Source, line: int, message: str) -> int | None:
    """Where a constructor should have called that of its base first, or the end of one that made no attribute; or an
    argument that is missing, where it is the only one of its name."""
    if "before Module.__init__" in message:
        return source.constructor_begin(line)
    found = re.search(r"missing \d+ required [\w-]+ arguments?: '(\w+)'", message)
    if found is not None:
        return source.argument(found[1], besides=line)
    found = re.search(r"has no attribute '(\w+)'", message)
    local = None if found is None else source.local_in_constructor(line, found[1])
    if found is None or (found[1] in source.attributes and local is None):
        return None
    stored = source.stored(found[1])  # by a function that has not run
    if local is None and stored is not None:
        return source.unused_in_constructor(line) or stored
    if source.named_later is not None:
        return source.named_later
    return local or source.constructor_end(line)


def misfitting(source: Source, message: str) -> Where | None:
    """The place of a call that does not fit the signature of one of the file's functions: where that begins."""
    found = re.search(r"(?:(\w+)\.)?(\w+)\(\) (?:got an unexpected|got multiple|missing|takes)", message)
    line = None if found is None else source.definition(found[2], found[1])
    if found is None or line is None:
        return None
    given = source.arguments(line)
    name = re.search(r"unexpected keyword argument '(\w+)'", message)
    expected = f"an argument `{name[1]}`" if name is not None else "the arguments of the template"
    said = (
        f"the arguments of `{found[2]}` are `{', '.join(given)}`"
        if given
        else f"`{found[2]}` has no arguments"
    )
    return Where(Place(line, line), "error", value=said, expected=expected)


def endless(source: Source, line: int) -> Where:
    """The place of a recursion without end: the line that it goes through again and again, and what it reads."""
    said, other = "this line calls itself without end", next(iter(source.assigned(line)), None)
    return Where(Place(line, line), "error", other, value=said, expected="a recursion that ends")


def not_raised(source: Source, type_name: str) -> Where | None:
    """The place where an error should have been raised."""
    found = [(test, line) for name, line, test in source.raises if name == type_name]
    if not found:
        return None
    first, line = found[0]
    other = found[1][0] if len(found) > 1 else line
    return Where(Place(first, first), "error", other if other != first else None)
