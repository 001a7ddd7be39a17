"""The place of a mistake that a file's own test meets while the file is loaded: it calls, or asserts something."""

from __future__ import annotations

import ast
import re
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace

from grader.catalog import Exercise
from grader.core.spots import Spot, Spots
from grader.core.submission import Submission, SubmissionError
from grader.core.value_trace import Recordable
from grader.edits.source_tree import Source
from grader.places.finder import MOST_SOURCE
from grader.places.places_by_mistake import spot_of
from grader.places.wrong_results import Locator

MOST_LEFT_OUT = 6  # statements that raise
DEFINITIONS = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)

Open = Callable[[str], Submission]


def loading_places(
    exercise: Exercise, source: str, error: SubmissionError, opened: Open, seed: int, deadline: float
) -> Spots:
    """The place of what is wrong in a file that raises while it is loaded; none if it cannot be said.

    The file is loaded without the statements that raise, and graded. Where nothing is wrong then, they are.

    Args:
        error: that it raises.
        opened: loads another text in its place.
        deadline: of `time.monotonic`.
    """
    if error.kind != "exception" or error.line is None or len(source) > MOST_SOURCE:
        return {}

    def in_time(text: str) -> Submission:
        if time.monotonic() > deadline:
            raise TimeoutError("looking for the place takes too long")
        return opened(text)

    text, left_out = without_what_raises(source, in_time)
    if text is None:  # a class that cannot be made: of what its message says, fields do not fit each other
        named = (
            at for name in re.findall(r"'(\w+)'", error.message) for at in Source(source).fields_named(name)
        )
        at = next(named, None)
        return {} if at is None else {"": Spot(at, at, why="error", other=error.line)}
    submission = in_time(text)
    try:
        assert isinstance(submission, Recordable)
        locator = Locator(submission, text, exercise.subject(), seed, deadline)
        missing = {f"name '{name}' is not defined" for name in made_in(source, left_out)}
        for component in exercise.components:
            wrong = [
                one
                for one in locator.wrong(component)
                if one.got.error is None or one.got.error.message not in missing
            ]
            found = locator.place(wrong) if wrong else None
            if found is not None:
                return {"": spot_of(replace(found, other=found.other or error.line))}
            if wrong:
                return {}
    finally:
        submission.close()
    return {"": Spot(error.line, error.line, why="error", other=left_out[0])}


def made_in(source: str, lines: Sequence[int]) -> set[str]:
    """Names that get their values in the statements which begin in these lines."""
    nodes = [node for one in ast.parse(source).body if one.lineno in lines for node in ast.walk(one)]
    return {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def without_what_raises(source: str, opened: Open) -> tuple[str | None, list[int]]:
    """A file without its statements that raise while it is loaded, each left empty; None where it needs them.

    Returns:
        the text, and the lines of what was left out.
    """
    lines, left_out = source.encode().splitlines(keepends=True), list[int]()
    while _raises(lines, opened):
        body = ast.parse(b"".join(lines)).body
        ends = [one.end_lineno or one.lineno for one in body]
        first = body[bisect_left(ends, True, key=lambda end: _raises(lines[:end], opened))]
        if isinstance(first, DEFINITIONS) or len(left_out) == MOST_LEFT_OUT:
            return None, left_out
        span = slice(first.lineno - 1, first.end_lineno)
        lines[span] = [b"\n"] * len(lines[span])
        left_out.append(first.lineno)
    return b"".join(lines).decode(), left_out


def _raises(lines: list[bytes], opened: Open) -> bool:
    """Return whether loading a file raises. Raises SubmissionError if it ends otherwise."""
    try:
        opened(b"".join(lines).decode()).close()
    except SubmissionError as error:
        if error.kind != "exception":
            raise
        return True
    return False
