"""Runs a failed scenario again with a record, beside the right runs, and says where the mistake is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import torch

from grader.catalog import get_exercises
from grader.core.submission import SubmissionError
from grader.core.value_trace import Recordable, ValueTrace
from grader.engine.alignment import CLOSE, Collector, RightValues, labelled
from grader.engine.contrast import differing
from grader.engine.inquiry import AnswerKey, Subject, answer_key, run
from grader.engine.local import LocalSubmission
from grader.engine.place import (
    Flow,
    Source,
    Where,
    at_the_end,
    completed,
    cut_off,
    first_wrong,
    other_default,
    raised,
    where,
    written,
)
from grader.engine.scenario import Scenario, Seen, scenarios_of

MOST_SCENARIOS = 3  # that are looked at, until one shows the place
MIXED = 1.15  # times as many right values in two right runs together as in one: done partly like either
ENOUGH = 100  # numbers in a result
CLOSE_IN = {torch.float32: 3e-5, torch.float64: CLOSE, torch.bfloat16: 3e-2}
SOLUTION = "solution.py"


@dataclass(frozen=True)
class Wrong:
    """A scenario that is wrong, and in what."""

    scenario: Scenario
    names: Sequence[str]
    got: Seen


class Locator:
    """Finds the places of one submission's mistakes.

    Args:
        submission: the file under test.
        source: its text.
        subject: the exercise.
        seed: of its scenarios.
    """

    def __init__(self, submission: Recordable, source: str, subject: Subject, seed: int) -> None:
        self.submission, self.subject, self.seed = submission, subject, seed
        self.source = Source(source)
        self._key: AnswerKey = answer_key(subject, seed)

    def wrong(self, component: str) -> list[Wrong]:
        """The component's scenarios in which the submission is wrong; those that show most come first."""
        found = []
        for scenario in scenarios_of(self._key.scenarios, component):
            try:
                got = run(scenario, self.submission, seed=self.seed)
            except SubmissionError:
                break
            names = differing(scenario, self._key.right(scenario), got)
            if names:
                found.append(Wrong(scenario, names, got))
        return sorted(found, key=self._rank)

    def _rank(self, wrong: Wrong) -> tuple[bool, bool, int]:
        """Values before gradients and facts; large ones first: in small ones much is the same by accident."""
        right = self._key.right(wrong.scenario)
        values = [n for n in wrong.names if n in right.values and not n.startswith("gradient")]
        size = max((x.numel() for x in right.values.values()), default=0)
        return not values and wrong.got.error is None, wrong.scenario.dtype == torch.bfloat16, -min(size, ENOUGH)

    def place(self, wrong: Sequence[Wrong]) -> Where | None:
        """The place of the mistake behind wrong scenarios of one component; None if it was not found."""
        found = [one for each in wrong[:MOST_SCENARIOS] if (one := self._one(each)) is not None]
        found = [one for one in found if one.why != "omitted"] or found
        counts = Counter(one.place.line for one in found)
        return max(found, key=lambda one: counts[one.place.line], default=None)

    def _one(self, wrong: Wrong) -> Where | None:
        exact = wrong.scenario.dtype != torch.bfloat16 and not wrong.got.error
        for in_doubles in (True, False) if exact else (False,):
            trace, again = self._recorded(wrong.scenario, exact=in_doubles)
            if set(differing(wrong.scenario, self._key.right(wrong.scenario), again)) & set(wrong.names):
                return self._look(self._flow(trace, wrong.scenario, exact=in_doubles), wrong)
        return None

    def _recorded(self, scenario: Scenario, *, exact: bool) -> tuple[ValueTrace, Seen]:
        self.submission.record()
        try:
            got = run(scenario, self.submission, exact=exact, seed=self.seed)
        finally:
            trace = self.submission.recorded()
        return trace, got

    def _flow(self, trace: ValueTrace, scenario: Scenario, *, exact: bool) -> Flow:
        """The run beside the right one that is most like it: two right ways of doing it are not mixed."""
        flows = [Flow(trace, self.source, right) for right in self.right_values(scenario, exact=exact)]
        single, both = flows[:2], flows[2]
        best = max(single, key=lambda flow: (first_wrong(flow) or -1, len(flow.vindicated)))
        return both if len(both.vindicated) > MIXED * len(best.vindicated) else best

    def _look(self, flow: Flow, wrong: Wrong) -> Where | None:
        error = wrong.got.error
        if all(name.startswith("gradient") for name in wrong.names):
            index = cut_off(flow)
            if index is not None:
                return where(flow, index, "gradient")
        if list(wrong.names) == ["changed in place"]:
            index = written(flow)
            return None if index is None else where(flow, index, "in place")
        default = other_default(flow)
        if default is not None:
            return default
        index = first_wrong(flow)
        if index is not None:
            return completed(flow, where(flow, index, "value"), error.line if error is not None else None)
        if error is not None and error.line:
            return raised(flow, error.line)
        return at_the_end(flow)

    def right_values(self, scenario: Scenario, *, exact: bool) -> list[RightValues]:
        """The values in a scenario: of the exercise's solution, of its reference, and of both together."""
        text, found = solution_text(scenario.component), []
        for with_solution, with_reference in ((True, False), (False, True), (True, True)):
            values = RightValues(CLOSE if exact else CLOSE_IN[scenario.dtype])
            if with_reference:
                steps = labelled(self.subject.bases[0], values)
                with Collector(values):
                    run(scenario, LocalSubmission(self.subject.namespace(steps)), exact=exact, seed=self.seed)
            if with_solution and text:
                solution = LocalSubmission.from_source(text, filename=SOLUTION)
                solution.record()
                run(scenario, solution, exact=exact, seed=self.seed)
                values.trace(solution.recorded())
            found.append(values)
        return found


def solution_text(component: str) -> str:
    """The solution of the exercise that a component belongs to, or ""."""
    for one in get_exercises().values():
        if component in one.components:
            solution = resources.files(one.package) / SOLUTION
            return solution.read_text(encoding="utf-8") if solution.is_file() else ""
    return ""
