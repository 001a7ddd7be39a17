"""The part of a verdict that a learner may see on a platform: name and line, nothing about the hidden inputs.

Expected and actual numbers, pictures and the seed are left out: they would reveal a test's inputs, and a file could
return hard-coded answers for them.
"""

from __future__ import annotations

import re
from dataclasses import replace

from grader.core.results import Grade, Result
from grader.core.spots import Spot
from grader.reports.places import NUMBERS, plain, sentences

_NUMBERS = re.compile(
    r"expected .*\bgot\b|\bexpected\b.*\d|same results as your code|cases of this test", re.DOTALL
)


def message_for_learners(result: Result) -> str:
    """Return a few sentences, or "" for a test that passed."""
    if result.status == "passed":
        return ""
    if result.status == "error":
        return _said(result)
    if result.mistakes:
        return "\n\n".join(
            "\n".join(
                filter(
                    None,
                    [
                        f"{m.id}: {m.text}",
                        plain(m.where, explained=True) if m.where else "",
                        m.formula and f"Formula: {m.formula}",
                        f"Hint: {m.hint}",
                    ],
                )
            )
            for m in result.mistakes
        )
    shown = result.where is not None and re.search(rf"\bline {result.where.line}\b", result.message)
    place = f"\n{plain(result.where, hidden=True)}" if result.where is not None and not shown else ""
    return f"{_said(result)}{place}"


def for_learners(grade: Grade) -> Grade:
    """The same without what a learner may not see, but for its seed: for reports that show more than messages."""
    results = tuple(
        replace(
            one,
            message=_said(one),
            mistakes=tuple(replace(each, where=_without_numbers(each.where)) for each in one.mistakes),
            picture="",
            where=_without_numbers(one.where),
            matrices=(),
        )
        for one in grade.results
    )
    return replace(grade, results=results)


def _said(result: Result) -> str:
    """The message of a test, if it says nothing of the inputs; of mistakes with names, their texts say all."""
    if result.status == "error":  # the traceback may contain the test's numbers
        return "Internal error of the grader in this test; your code is not at fault."
    if result.mistakes:
        return ""
    if _NUMBERS.search(result.message):
        return "Wrong result. Run `zoo grade` on your own machine to see an example."
    return result.message


def _without_numbers(spot: Spot | None) -> Spot | None:
    if spot is None or not any(map(NUMBERS.search, sentences(spot))):
        return spot
    return replace(spot, value="", expected="", last_value="")


def number(points: float) -> int | float:
    """Points as platforms show them: 3, not 3.0."""
    return int(points) if points == int(points) else points
