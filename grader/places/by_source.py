"""Lines that look wrong in the source alone: idle ones, values nothing reads, state that is kept, foreign parts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from grader.core.value_trace import Place
from grader.edits.source_tree import Source
from grader.places.where import Where

MOST_KEPT = 2  # attributes: of more it cannot be said which one is to blame
MOST_CARRIED = 2  # lines that take something from an earlier round
FEW_LINES = 2  # that only wrong runs have


def foreign(source: Source, names: Sequence[str]) -> Where | None:
    """The line where a part was made whose parameters do not belong to the class. Args: names: of such parameters."""
    for name in names:
        first, *others = name.split(".")
        keys = next(
            (lines for one in others if (lines := source.strings.get(one))), []
        )  # in a `ParameterDict`
        line, *more = [*keys, *source.attributes.get(first, ())] or [None]
        if line is not None:
            said = f"`self.{name}` is a parameter that the formula does not have, or of another shape"
            expected = "the parameters of the formula"
            other = next((one for one in more if one != line), None)
            return Where(Place(line, line), "value", other, value=said, expected=expected)
    return None


def mode_set(source: Source, ran: Collection[int]) -> Where | None:
    """The last line that puts a module in a mode, where only the mode that it is left in is wrong."""
    found = source.modes(ran)
    if not found:
        return None
    *before, (line, code) = found
    said, other = f"`{code}` sets the mode", before[-1][0] if before else None
    return Where(Place(line, line), "value", other, value=said, expected="the mode that it had before")


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


def unread_argument(source: Source, component: str, ran: Collection[int]) -> Where | None:
    """The line of a function that never reads one of its arguments."""
    found = source.unread_argument(component, ran)
    if found is None:
        return None
    name, line, first = found
    said, right = f"nothing reads the argument `{name}`", f"a step that reads `{name}`"
    return Where(Place(line, line), "omitted", first, value=said, expected=right)


def kept(source: Source, ran: Collection[int], *, of_objects: bool, of_file: bool) -> Where | None:
    """Lines where something is kept from one call to the next. Args: of_objects, of_file: where it may be."""
    found = [one for one in source.state(ran) if (of_objects if one[1].startswith("self.") else of_file)]
    if not found or len({name for _, name in found}) > MOST_KEPT:
        return None
    (line, name), *others = found
    said = f"`{name}` is kept from one call to the next"
    made = next((at for at in source.constant_made(name) if at != line), None)
    other = others[-1][0] if others else made
    return Where(Place(line, line), "value", other, value=said, expected="no state")


def avoided(source: Source, best: Where, line: int) -> int | None:
    """A line that is wrong, which another condition in a line only keeps from running. Args: best: by values."""
    if not source.chooses(line):
        return None
    lines, helpers, own = (
        [one for one in best.lines if one != line],
        source.helpers(line),
        source.functions([line]),
    )
    inside = [one for one in lines if line in [at for at, _ in source.tests(one)]]
    beside = [one for one in lines if one in own] if source.in_function(line) else []
    called = [one for one in lines if one in helpers]
    return next(iter([*(inside + beside if best.evidence == "patched" else []), *called]), None)


def unregistered(source: Source) -> Where | None:
    """Lines where parts come into an object that is no module, so that the module does not know of them."""
    hidden = source.hidden_parameters or source.hidden_parts or source.hidden_modules
    if not hidden:
        return None
    (line, name), *others = hidden
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


def later_rounds(source: Source, loop: int) -> Where | None:
    """The last lines of a loop that take something from the round before. Args: loop: right in its first round."""
    lines, _ = source.carried(loop)
    if not lines:
        return None
    lines = [at for one in lines for at in (source.summed(one) or [one])]
    *others, line = lines[-MOST_CARRIED:]
    said = f"the loop of line {loop} is right if it has one round, and wrong if it has more"
    expected = "what earlier rounds gave, as the later ones need it"
    return Where(Place(line, line), "value", next(iter(others), None), value=said, expected=expected)


def only_then(line: int, number: int) -> Where:
    """The first line where only wrong calls come. Args: number: the line of the number with which none does."""
    said = f"only wrong calls come here, and none with a larger number in line {number}"
    return Where(Place(line, line), "value", number, value=said, expected="the same result on this way too")


def overwritten(source: Source, ran: Collection[int]) -> Where | None:
    """A line that gives an argument another value before anything has read it."""
    found = source.overwritten(ran)
    if found is None:
        return None
    name, line = found
    said, right = f"`{name}` gets another value before anything has read it", f"a step that reads `{name}`"
    return Where(Place(line, line), "value", value=said, expected=right)
