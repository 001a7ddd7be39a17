"""Explains the places of one submission: what is true in all scenarios that were looked at."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from importlib import resources

from torch import Tensor

from grader.catalog import get_exercises
from grader.core.value_trace import Place
from grader.edits.changed_part import (
    changed_part,
    exchanged,
    in_another_block,
    in_line,
    in_two_lines,
    several_at_once,
)
from grader.engine.scenario import Free, Scenario
from grader.engine.subject import Subject
from grader.engine.work_clock import clock
from grader.places.explainer import Explainer, Statement
from grader.places.flow import Flow
from grader.places.right_runs import right_runs
from grader.places.value_names import short, short_pair
from grader.places.vocabulary import (
    rendered,
)
from grader.places.where import Where
from zoo.core.lines import split_lines

MOST_SECONDS = 0.4  # of the clock of work, for one submission


class Explanations:
    """Explains the places of one submission: what is said of a line is what is true in all scenarios looked at.

    Args:
        subject: the exercise.
        seed: of its scenarios.
        source: the submission's text.
        solution: gives the text of the solution, for a component.

    Attributes:
        proof: the right value with which the result was right, in the scenario looked at.
    """

    def __init__(self, subject: Subject, seed: int, source: str, solution: Callable[[str], str]) -> None:
        self._subject, self._seed, self._source, self._solution = subject, seed, source, solution
        self._found: dict[Place, list[list[Statement]]] = {}
        self._edits: dict[int, tuple[str, str]] = {}  # by line
        self._moved: dict[int, tuple[str, str]] = {}  # by line, in words, where only its place differs
        self._skipped: dict[Place, set[int | None]] = {}  # after which line a step before it is missing
        self._deadline = math.inf
        self.proof: Tensor | None = None

    def add(self, flow: Flow, found: Where, scenario: Scenario, free: Free, *, exact: bool) -> None:
        """Explain a place in one scenario."""
        if self._deadline == math.inf:
            self._deadline = clock.seconds() + MOST_SECONDS
        if clock.seconds() > self._deadline and found.place in self._found:
            return
        text = self._solution(scenario.component)
        runs = right_runs(self._subject, scenario, free, text, exact=exact, seed=self._seed)
        explainer = Explainer(flow, found, runs, self._texts(scenario.component), self.proof, self._deadline)
        self._found.setdefault(found.place, []).append(explainer.statements())
        self._skipped.setdefault(found.place, set()).add(explainer.skipped)

    def edited(self, line: int, text: str) -> None:
        """Note a small change of a line that makes the file right. Args: text: the changed file."""
        self._edits[line] = changed_part(self._source, in_line(self._source, text, line))
        old, new = ([*split_lines(one), *[""] * line][line - 1] for one in (self._source, text))
        moved = (
            exchanged(self._source, text, line)
            or in_another_block(self._source, text, line)
            or several_at_once(self._source, text, line)
            or in_two_lines(self._source, text, line)
        )
        if moved is not None:
            self._moved[line] = f"`{short(moved[0])}`", moved[1]
        elif old.split() == new.split() and old != new:
            less = "less" if len(new) < len(old) else "more"
            self._moved[line] = "the indentation", f"this line indented {less}"

    def too_rarely(self, line: int, condition: str, statement: str) -> None:
        """Note that a condition must not be what a statement depends on."""
        self._edits[line] = condition, statement
        self._moved[line] = f"`{short(condition)}`", f"`{short(statement)}` in more cases"

    def complete(self, found: Where) -> Where:
        """The place with its explanation."""
        statements = self._found.get(found.place)
        if statements is None:
            near = [s for place, s in self._found.items() if place.line == found.place.line]
            statements = near[0] if near else []
        value, expected = in_common(statements)
        likely = value == expected or any(some and some[0].likely for some in statements)
        changed = likely or not expected or found.why == "error"  # what was done says more than the value
        if changed and found.place.line in self._edits:
            old, new = short_pair(*self._edits[found.place.line])
            here = f"`{old}`" if old else "a step is missing here"
            there = f"`{new}`" if new else f"without `{old}`" if old else ""
            here, there = self._moved.get(found.place.line, (here, there))
            value, expected = here if likely or not value else value, there
        after = self.left_out(found.place)
        if after is not None and found.why != "omitted":
            between = found.other is not None and after < found.other < found.place.line
            found = replace(found, why="omitted", other=found.other if between else after)
        value, expected = value or found.value, expected or found.expected
        return replace(found, value=value, expected="" if expected == value else expected)

    def left_out(self, place: Place) -> int | None:
        """The line after which a step before a place is missing, if it is the same one in all scenarios."""
        skipped = self._skipped.get(place, set())
        after = next(iter(skipped)) if len(skipped) == 1 else None
        return after if after is not None and after < place.line else None

    @staticmethod
    @lru_cache(maxsize=32)
    def _texts(component: str) -> tuple[str, ...]:
        """Return the text with the shapes of a component's arguments: the template of its exercise."""
        for one in get_exercises().values():
            if component in one.components:
                template = resources.files(one.package) / "template.py"
                return (template.read_text(encoding="utf-8"),) if template.is_file() else ()
        return ()


def in_common(statements: Sequence[Sequence[Statement]]) -> tuple[str, str]:
    """The first statement that is true in all scenarios, else the first one of the first scenario."""
    said = [some for some in statements if some]
    if not said:
        return "", ""
    for one in said[0]:
        others = [next((o for o in some if o.form == one.form), None) for some in said[1:]]
        if all(other is not None for other in others):
            every = [one, *(other for other in others if other is not None)]
            return rendered([s.value for s in every]), rendered([s.expected for s in every])
    return rendered([said[0][0].value]), rendered([said[0][0].expected])
