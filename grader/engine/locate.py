"""Runs a failed scenario again with a record, beside the right runs, and says where the mistake is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import resources

import torch

from grader.catalog import get_exercises
from grader.core.submission import SubmissionError
from grader.core.value_trace import Place, Recordable
from grader.engine.alignment import CLOSE, Collector, RightValues, labelled
from grader.engine.contrast import differing
from grader.engine.inquiry import AnswerKey, Subject, answer_key, run
from grader.engine.local import LocalSubmission
from grader.engine.place import Flow, Source, Where, cut_off, first_wrong, where, written
from grader.engine.scenario import Scenario, Seen, scenarios_of

MOST_SCENARIOS = 3  # that are looked at, until one shows the place
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

    def _rank(self, wrong: Wrong) -> tuple[int, bool]:
        right = self._key.right(wrong.scenario)
        values = [n for n in wrong.names if n in right.values and not n.startswith("gradient")]
        kind = 0 if values else 1 if wrong.got.error is not None else 2
        return kind, wrong.scenario.dtype == torch.bfloat16

    def place(self, wrong: Sequence[Wrong]) -> Where | None:
        """The place of the mistake behind wrong scenarios of one component; None if it was not found."""
        found = [one for each in wrong[:MOST_SCENARIOS] if (one := self._one(each)) is not None]
        sure = [one for one in found if one.why != "omitted"]
        return (sure or found or [None])[0]

    def _one(self, wrong: Wrong) -> Where | None:
        exact = wrong.scenario.dtype != torch.bfloat16 and not wrong.got.error
        for in_doubles in (True, False) if exact else (False,):
            flow, again = self._recorded(wrong.scenario, exact=in_doubles)
            if set(differing(wrong.scenario, self._key.right(wrong.scenario), again)) & set(wrong.names):
                return self._look(flow, wrong)
        return None

    def _recorded(self, scenario: Scenario, *, exact: bool) -> tuple[Flow, Seen]:
        self.submission.record()
        try:
            got = run(scenario, self.submission, exact=exact, seed=self.seed)
        finally:
            trace = self.submission.recorded()
        return Flow(trace, self.source, self.right_values(scenario, exact=exact)), got

    def _look(self, flow: Flow, wrong: Wrong) -> Where | None:
        error = wrong.got.error
        if all(name.startswith("gradient") for name in wrong.names):
            index = cut_off(flow)
            if index is not None:
                return where(flow, index, "gradient")
        if list(wrong.names) == ["changed in place"]:
            index = written(flow)
            return None if index is None else where(flow, index, "in place")
        index = first_wrong(flow)
        if index is not None:
            found = where(flow, index, "value")
            if error is not None and error.line and error.line != found.place.line:
                return replace(found, other=error.line)
            return found
        if error is not None and error.line:
            calls = [one for one in flow.events if one.kind == "call"]
            last = calls[-1].place.line if calls and calls[-1].place.line != error.line else None
            return Where(Place(error.line, error.line), "error", last)
        ends = [i for i, one in enumerate(flow.events) if one.kind == "return" and not one.callers and one.result]
        return where(flow, ends[-1], "omitted") if ends else None

    def right_values(self, scenario: Scenario, *, exact: bool) -> RightValues:
        """The values of the reference and of the exercise's solution in a scenario."""
        values = RightValues(CLOSE if exact else CLOSE_IN[scenario.dtype])
        base = self.subject.bases[0]
        reference = LocalSubmission(self.subject.namespace(labelled(base, values)))
        with Collector(values):
            run(scenario, reference, exact=exact, seed=self.seed)
        text = solution_text(scenario.component)
        if text:
            solution = LocalSubmission.from_source(text, filename=SOLUTION)
            solution.record()
            run(scenario, solution, exact=exact, seed=self.seed)
            values.trace(solution.recorded())
        return values


def solution_text(component: str) -> str:
    """The solution of the exercise that a component belongs to, or ""."""
    for one in get_exercises().values():
        if component in one.components:
            solution = resources.files(one.package) / SOLUTION
            return solution.read_text(encoding="utf-8") if solution.is_file() else ""
    return ""
