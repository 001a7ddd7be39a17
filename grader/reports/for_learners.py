"""The part of a verdict that a learner may see on a platform: name and line, nothing about the hidden inputs.

Expected and actual numbers, pictures and the seed are left out: they would reveal a test's inputs, and a file could
return hard-coded answers for them.
"""

from __future__ import annotations

import re

from grader.core.results import Result
from grader.reports.places import plain

_NUMBERS = re.compile(r"expected .*\bgot\b|\bexpected\b.*\d|same results as your code|cases here", re.DOTALL)


def message_for_learners(result: Result) -> str:
    """Return a few sentences, or "" for a test that passed."""
    if result.status == "passed":
        return ""
    if result.status == "error":  # the traceback may contain the test's numbers
        return "Internal error of the grader in this test; your code is not at fault."
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
    if _NUMBERS.search(result.message):
        return f"Wrong result. Run `zoo grade` on your own machine to see an example.{place}"
    return f"{result.message}{place}"


def number(points: float) -> int | float:
    """Points as platforms show them: 3, not 3.0."""
    return int(points) if points == int(points) else points
