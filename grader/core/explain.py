"""Explanations of a `SubmissionError` in sentences for learners."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.core.submission import SubmissionError
from zoo.core.lines import split_lines

MOST_DEFINITIONS = 200  # of a file whose text is looked through for what they use
_CLASS_OR_DEF = re.compile(r"(\s*)(?:class|(?:async\s+)?def)\s+(\w+)")
_STUB = re.compile(r"(\s*)raise\s+NotImplementedError\s*\(\s*f?(?:\"([^\"\n]*)\"|'([^'\n]*)')")
_WORD = re.compile(r"[^\W\d]\w*")
_QUOTED = re.compile(r"'(\w+)'")
_NOT_A_MODULE_YET = re.compile(
    r"before Module\.__init__\(\) call|has no attribute '_(?:modules|parameters|buffers|\w+_hooks)'"
)
_BEGINNINGS = {
    "timeout": "Your code took too long and was stopped: ",
    "died": "The process that ran your code has ended: ",
    "limit": "Your code exceeded a limit: ",
}


_SUPER = "\nThe __init__ of a module must begin with super().__init__(): is that line missing, or too late?"


@dataclass(frozen=True)
class Stub:
    """A function or method that is still as the template had it."""

    name: str
    line: int
    text: str


def find_stubs(source: str) -> list[Stub]:
    """All `raise NotImplementedError("...")` of a file, with the function or method that contains them.

    Read line by line: the judge does not hand untrusted text to a parser when it need not.
    """
    stubs: list[Stub] = []
    inside: list[tuple[int, str]] = []
    for number, line in enumerate(split_lines(source), start=1):
        if found := _CLASS_OR_DEF.match(line):
            indent = len(found[1])
            inside = [outer for outer in inside if outer[0] < indent] + [(indent, found[2])]
        elif found := _STUB.match(line):
            names = [name for indent, name in inside if indent < len(found[1])]
            stubs.append(Stub(".".join(names) or "the file", number, found[2] or found[3] or ""))
    return stubs


def find_names(source: str) -> list[str]:
    """The functions and classes that a file defines at its left margin, read line by line."""
    lines = map(_CLASS_OR_DEF.match, split_lines(source))
    return [found[2] for found in lines if found is not None and not found[1]]


def find_uses(source: str) -> dict[str, set[str]]:
    """By function and class at the left margin: itself, and all of these that its text mentions, directly or not.

    Nothing for a file with more of them than people write.
    """
    words: dict[str, set[str]] = {}
    name = ""
    for line in split_lines(source):
        found = _CLASS_OR_DEF.match(line)
        if found is not None and not found[1]:
            name = found[2]
        if name:
            words.setdefault(name, {name}).update(_WORD.findall(line))
    if len(words) > MOST_DEFINITIONS:
        return {}
    uses = {one: mentioned & words.keys() for one, mentioned in words.items()}
    for through in uses:  # Warshall: each is a step on the way once
        for one, known in uses.items():
            if through in known:
                uses[one] = known | uses[through]
    return uses


def place(error: SubmissionError) -> str:
    """Return where it happened: "line 12: `x = y`", or "" if that is not known."""
    if error.line is None:
        return ""
    code = error.source_line.strip()
    return f"line {error.line}" + (f": {code}" if code else "")


def misfit(error: SubmissionError) -> bool:
    """Return whether the call itself did not fit the signature, so that none of the submission's code ran."""
    return error.type_name == "TypeError" and error.line is None and "argument" in error.message


def explain(error: SubmissionError, stubs: list[Stub], names: Sequence[str] = ()) -> str:
    """The sentence for people. `stubs` are those of the submission's file, `names` what it defines."""
    where = place(error)
    at = f"\n  {where}" if where else ""
    if error.kind == "not_written":
        return _not_written(error, stubs)
    if misfit(error):
        return f"The call does not fit your signature; compare it with the template's. TypeError: {error.message}"
    if error.kind == "missing":
        return error.message + at + _nearest(error, names)
    if error.kind == "exception":
        begun = "" if _NOT_A_MODULE_YET.search(error.message) is None else _SUPER
        return f"Your code raised {error.type_name or 'an exception'}: {error.message}{at}{begun}"
    if error.kind == "syntax":
        # The message holds the line and a caret already, unless Python had none to show.
        told = error.line is not None and f"line {error.line}" in error.message
        return f"Python cannot read the file. {error.message}" + ("" if told else at)
    return f"{_BEGINNINGS.get(error.kind, '')}{error.message}{at}"


def _nearest(error: SubmissionError, names: Sequence[str]) -> str:
    """A question: whether the name that is missing was written in another way."""
    wanted = _QUOTED.search(error.message)
    near = difflib.get_close_matches(wanted[1], names, n=1) if wanted and wanted[1] not in names else []
    return f" The file defines '{near[0]}': should it have that name?" if near else ""


def _not_written(error: SubmissionError, stubs: list[Stub]) -> str:
    hit = next((stub for stub in stubs if stub.line == error.line), None)
    if hit is None:
        where = f" (line {error.line})" if error.line is not None else ""
        return f'Not written yet{where}: "{error.message}"'
    whole = hit.name.partition(".")[0]
    related = [stub for stub in stubs if stub.name.partition(".")[0] == whole]
    lines = "\n".join(f'  line {stub.line}, {stub.name}: "{stub.text}"' for stub in related)
    return f"{whole} is not written yet.\n{lines}"


def same_failure(error: SubmissionError) -> tuple[object, ...]:
    """Equal for two errors of one cause: the same kind of end, at the same line."""
    if misfit(error):
        return (error.kind, error.type_name, error.message.partition("(")[0])
    where = error.message if error.line is None else error.line
    return (error.kind, error.type_name, where)
