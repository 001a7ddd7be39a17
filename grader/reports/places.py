"""The place of a mistake in a few lines of text: the learner's own line with the spot underlined, and what is right."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from grader.core.spots import Spot

WIDTH = 80
INDENT = "  "
BEFORE = 12  # columns shown before the spot where a line is too long
CUT = "..."
NUMBERS = re.compile(r"\d[.,]\d|\d, |\d{4}|\de[-+]?\d")
_NAME = re.compile(r"^([\w ^]+): ")
_ASSIGNED = re.compile(r"\s*([\w., ]+?)\s*(?::[^=]+)?([-+*/|&@]|\*\*|//)?=(?!=)")
_DECIDES = re.compile(r"\s*(if|elif|while)\b")
_DEFAULT = re.compile(r"(\w+)(?:\s*:[^=]*?)?\s*=(?!=)")
_BEGINS = re.compile(r"\s*(def|async def|class)\b|\s*@")


def place_lines(spot: Spot, *, explained: bool = False, most: int = 5) -> list[str]:
    """At most five lines of at most `WIDTH` columns; at most three with a mistake whose name says the rest.

    Args:
        explained: the mistake has a name.
        most: lines. With two, a second line of the file is only named.
    """
    second = spot.other is not None and (spot.why == "omitted" or (most > 2 and not _in_words(spot)))
    start = len(INDENT) + len(f"line {max(spot.line, spot.other or 0) if second else spot.line}") + 3
    lines = [*_underlined(spot, start, noted=explained and not second)]
    beside: list[str] = []
    if second and spot.other is not None:
        why = _why(spot)
        room = WIDTH - start - len(why)
        text = _without_comment(spot.other_source.strip(), 0, room)
        beside = [_labelled(spot.other, _cut(text, room) + why, start)]
    room = most - len(lines) - len(beside)
    said = [] if explained else [*sentences(spot)]
    wrapped = [line for one in said for line in _fitting(one, WIDTH - start)]
    if len(wrapped) > room:  # what it is and should be comes before what is right so far
        wrapped = [_cut(one, WIDTH - start) for one in said[max(0, len(said) - room) :]]
    told = [" " * start + line for line in wrapped]
    if spot.why != "omitted":
        return [*lines, *told, *beside][:most]
    return [*(lines + beside if spot.line < (spot.other or 0) else beside + lines), *told][:most]


def sentences(spot: Spot) -> Iterator[str]:
    """Sentences on a place: the last right value, the value, and the expected one."""
    if spot.iteration is not None and spot.why == "value":
        yield (
            f"Right the first {spot.iteration - 1} times." if spot.iteration > 2 else "Right the first time."
        )
    elif spot.last_right is not None:
        if spot.last_value:
            yield f"Right up to line {spot.last_right}: {spot.last_value}."
        elif spot.last_right != spot.line:
            yield f"Right up to line {spot.last_right}."
        else:
            yield "Its inputs are right."
    if spot.value and spot.expected:
        yield f"Yours: {spot.value}"
        yield "Right: " + _NAME.sub(r"\1 = ", spot.expected)
    elif spot.value or spot.expected:
        yield f"{spot.value[0].upper()}{spot.value[1:]}." if spot.value else f"Right here: {spot.expected}."
    elif spot.why == "gradient":
        yield "The gradient stops here."
    elif spot.why == "omitted":
        between = spot.other is not None
        yield f"A step is missing {'between these lines' if between else 'here, or after this line'}."
    elif spot.why == "in place":
        yield "This changes an argument in place."
    elif spot.proved:
        yield "With the right value here, the result is right."


def heading(spot: Spot) -> str:
    """The lines in words: "line 14", "line 14 (called in line 30)", "between line 12 and line 14"."""
    if spot.why == "omitted" and spot.other is not None:
        first, last = sorted((spot.line, spot.other))
        return f"between line {first} and line {last}"
    note = _note(spot)
    return f"line {spot.line}" + (f" ({note})" if note else "")


def plain(spot: Spot, *, explained: bool = False, hidden: bool = False) -> str:
    """The place for platforms that show text as it is: the line and its source, then what is known.

    Args:
        explained: the mistake has a name, which says the rest.
        hidden: leave out what has numbers, which may be those of a hidden test.
    """
    where = heading(spot)
    head = f"{where[0].upper()}{where[1:]}: {_cut(spot.source.strip(), 200)}"
    said = [] if explained else [one for one in sentences(spot) if not (hidden and NUMBERS.search(one))]
    return "\n".join([head, *said])


def _labelled(line: int, text: str, start: int) -> str:
    return f"{INDENT}line {line}".ljust(start) + text


def _underlined(spot: Spot, start: int, *, noted: bool) -> Iterator[str]:
    """The line, and a second one with the spot underlined, and a note."""
    indent = len(spot.source) - len(spot.source.lstrip())
    text = spot.source.strip()
    begin, end = (min(max(one - indent, 0), len(text)) for one in spot.mark)
    text = _without_comment(text, end if spot.end_line == spot.line else 0, WIDTH - start)
    shown, before, under = _window(text, begin, end, WIDTH - start)
    yield _labelled(spot.line, shown, start)
    note = _note(spot, second=noted)
    known = spot.column is not None and under and spot.why != "omitted"
    marks = " " * before + "^" * under if known else ""
    if marks and start + len(marks) + 2 + len(note) <= WIDTH:
        yield (" " * start + marks + "  " + note).rstrip()
    else:
        if marks:
            yield " " * start + marks
        if note:
            yield " " * start + f"({note})"


def _why(spot: Spot) -> str:
    """What the second line has to do with the first, in two words; "" where their text does not say it."""
    source, other, inside = spot.source, spot.other_source, spot.region == spot.other_region
    if spot.line < (spot.other or 0) and _reads(other, _assigned(source), inside):
        return "  (read here)"
    if _has_default(spot):
        return "  (default)"
    if _reads(source, _assigned(other), inside):
        return "  (assigned here)"
    around, called = (one.rpartition(".")[2] for one in (spot.region, spot.other_region))
    if around and _calls(other, around):
        return "  (called here)"
    return f"  (in `{called}`)" if called and not inside and _calls(source, called) else ""


def _calls(line: str, function: str) -> bool:
    return re.search(rf"(?<!def )\b{re.escape(function)}\(", line) is not None


def _reads(line: str, names: Iterable[str], inside: bool) -> bool:
    """Return whether a line reads one of these names. Args: inside: the function that assigns them."""
    text = _value(line)
    known = [name for name in names if inside or name.startswith("self.")]
    return any(re.search(rf"(?<![\w.]){re.escape(name)}\b", text) for name in known)


def _assigned(line: str) -> list[str]:
    """The names that a line of code gives a value."""
    found = _ASSIGNED.match(line)
    return [] if found is None else [name.strip() for name in found[1].split(",")]


def _value(line: str) -> str:
    """A line of code, without the names that it gives a value."""
    found = _ASSIGNED.match(line)
    return line if found is None or found[2] else line[found.end() :]


def _in_words(spot: Spot) -> bool:
    """Return whether a few words say what the second line is, or it says nothing: where the function begins."""
    inside = spot.other is not None and spot.line <= spot.other <= spot.end_line
    begins = _begins(spot)
    return inside or begins or spot.other in spot.called_from or spot.other == spot.last_right


def _begins(spot: Spot) -> bool:
    """Whether the second line only begins a function or a class, and gives no default that the first one decides by."""
    return _BEGINS.match(spot.other_source) is not None and not _has_default(spot)


def _has_default(spot: Spot) -> bool:
    decides = _BEGINS.match(spot.other_source) and _DECIDES.match(spot.source)
    names = _DEFAULT.findall(spot.other_source) if decides else []
    return any(re.search(rf"\b{name}\b", spot.source) for name in names)


def _note(spot: Spot, *, second: bool = True) -> str:
    """Return what there is to say of the lines in a few words. Args: second: also where it is right, or what to see."""
    said = [f"to line {spot.end_line}"] if spot.end_line > spot.line else []
    if spot.other is None or spot.line <= spot.other <= spot.end_line or _begins(spot):
        return ", ".join(said)
    if spot.other in spot.called_from:
        said.append(f"called in line {spot.other}")
    elif second:
        right = spot.other == spot.last_right
        said.append(f"right up to line {spot.other}" if right else f"see line {spot.other} too")
    return ", ".join(said)


def _without_comment(text: str, end: int, room: int) -> str:
    """A line that is too long, without a comment behind the spot."""
    comment = text.find("  # ", end)
    return text[:comment] if comment > 0 and columns(text) > room else text


def columns(text: str) -> int:
    """The number of terminal columns that a text takes."""
    return sum(map(_columns_of, text))


def _columns_of(c: str) -> int:
    if unicodedata.combining(c) or unicodedata.category(c) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(c) in "WF" else 1


def _window(text: str, begin: int, end: int, room: int) -> tuple[str, int, int]:
    """As much of a line as there is room for, with what lies between two characters.

    Returns:
        the text, the columns before the first of them, and the columns that they take, as far as they are shown.
    """
    first = 0
    if columns(text) > room:
        most = room - 2 * len(CUT)
        while columns(text[first:end]) > most and columns(text[first:begin]) > BEFORE:
            first += 1
    head = CUT if first else ""
    kept = _cut(text[first:], room - len(head))
    last = first + len(kept.removesuffix(CUT) if kept != text[first:] else kept)
    before = len(head) + columns(text[first:begin])
    return head + kept, before, columns(text[begin : min(end, last)])


def _cut(text: str, room: int) -> str:
    """The beginning of a text, with dots where something was cut off."""
    if columns(text) <= room:
        return text
    while text and columns(text) > room - len(CUT):
        text = text[: max(0, len(text) - max(1, (columns(text) - room) // 2))]
    return text + CUT


def _fitting(text: str, room: int) -> Iterator[str]:
    """A sentence on at most two lines."""
    lines, rest = 0, text
    while rest and lines < 2:
        lines += 1
        if columns(rest) <= room or lines == 2:
            yield _cut(rest, room)
            return
        stop = len(_cut(rest, room + len(CUT)).removesuffix(CUT))
        stop = rest.rfind(" ", 0, stop + 1) if " " in rest[: stop + 1] else stop
        yield rest[:stop].rstrip()
        rest = rest[stop:].lstrip()
