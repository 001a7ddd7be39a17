"""Runs a failed scenario again with a record, beside the right runs, and says where the mistake is."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources

import torch
from torch import Tensor

from grader.catalog import get_exercises
from grader.core.submission import SubmissionError
from grader.core.value_trace import Recordable, ValueTrace
from grader.engine.alignment import CLOSE, Collector, RightValues, labelled
from grader.engine.contrast import differing, same
from grader.engine.grading import AnswerKey, Subject, answer_key, grading_of, run
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
from grader.engine.scenario import Free, Observation, Scenario, scenarios_of

MOST_SCENARIOS = 3  # that are looked at
ENOUGH_AGREE = 2
MOST_PATCHES = 6
MOST_TRIED = 3  # right values in one place
MIXED = 1.15  # times as many right values in two right runs together as in one: done partly like either
ENOUGH = 100  # numbers in a result
CLOSE_IN = {torch.float32: 3e-5, torch.float64: CLOSE, torch.bfloat16: 3e-2}
SOLUTION = "solution.py"


@dataclass(frozen=True)
class Wrong:
    """A scenario that is wrong, and in what."""

    scenario: Scenario
    names: Sequence[str]
    got: Observation


class Locator:
    """Finds the places of one submission's mistakes.

    Args:
        submission: the file under test.
        source: its text.
        subject: the exercise.
        seed: of its scenarios.
        deadline: of `time.monotonic`.
    """

    def __init__(
        self, submission: Recordable, source: str, subject: Subject, seed: int, deadline: float = math.inf
    ) -> None:
        self.submission, self.subject, self.seed = submission, subject, seed
        self._deadline = deadline
        self.source = Source(source)
        self._key: AnswerKey = answer_key(subject, seed)
        self._grading = grading_of(submission, seed, subject)

    def wrong(self, component: str) -> list[Wrong]:
        """The component's scenarios in which the submission is wrong; those that show most come first."""
        found = []
        for scenario in scenarios_of(self._key.scenarios, component):
            try:
                got = self._grading.got(scenario)
            except SubmissionError:
                break
            names = differing(scenario, self._key.right(scenario, got.free), got)
            if names:
                found.append(Wrong(scenario, names, got))
        return sorted(found, key=self._rank)

    def _rank(self, wrong: Wrong) -> tuple[bool, bool, int]:
        """Values before gradients and facts; large ones first: in small ones much is the same by accident."""
        right = self._key.right(wrong.scenario, wrong.got.free)
        values = [n for n in wrong.names if n in right.values and not n.startswith("gradient")]
        size = max((x.numel() for x in right.values.values()), default=0)
        return (
            not values and wrong.got.error is None,
            wrong.scenario.dtype == torch.bfloat16,
            -min(size, ENOUGH),
        )

    def place(self, wrong: Sequence[Wrong]) -> Where | None:
        """The place of the mistake behind wrong scenarios of one component; None if it was not found."""
        found: list[Where] = []
        counts: Counter[int] = Counter()
        for each in wrong[:MOST_SCENARIOS]:
            one = self._one(each)
            if one is not None:
                found.append(one)
                counts[one.place.line] += one.why != "omitted"
                if counts[one.place.line] == ENOUGH_AGREE:
                    return one
        return max(found, key=lambda one: counts[one.place.line], default=None)

    def _one(self, wrong: Wrong) -> Where | None:
        exact = wrong.scenario.dtype != torch.bfloat16 and not wrong.got.error
        for in_doubles in (True, False) if exact else (False,):
            trace, again = self._recorded(wrong.scenario, exact=in_doubles)
            if set(differing(wrong.scenario, self._key.right(wrong.scenario, again.free), again)) & set(
                wrong.names
            ):
                flow = self._flow(trace, wrong, exact=in_doubles)
                found = self._look(flow, wrong)
                if found is None or found.why != "value":
                    return found
                return self._proved(flow, wrong, found, exact=in_doubles)
        return None

    def _recorded(
        self, scenario: Scenario, *, exact: bool, patches: Mapping[int, Tensor] | None = None
    ) -> tuple[ValueTrace, Observation]:
        if time.monotonic() > self._deadline:
            raise TimeoutError("looking for the place takes too long")
        self.submission.record(patches)
        try:
            got = self._grading.ask(scenario, exact=exact)
        finally:
            trace = self.submission.recorded()
        return trace, got

    def _flow(self, trace: ValueTrace, wrong: Wrong, *, exact: bool) -> Flow:
        """The run beside the right one that is most like it: two right ways of doing it are not mixed."""
        flows = [
            Flow(trace, self.source, right)
            for right in self.right_values(wrong.scenario, wrong.got.free, exact=exact)
        ]
        single, both = flows[:2], flows[2]
        best = max(single, key=lambda flow: (first_wrong(flow) or -1, len(flow.vindicated)))
        return both if len(both.vindicated) > MIXED * len(best.vindicated) else best

    def _proved(self, flow: Flow, wrong: Wrong, found: Where, *, exact: bool) -> Where:
        """Put right values in the place of wrong ones, run it again, and see whether the result is right.

        A line may have run several times: one value after the other is put right.
        """
        patches: dict[int, Tensor] = {}
        index, expected = found.event, ""
        for _ in range(MOST_PATCHES):
            event = None if index is None else flow.events[index]
            if index is None or event is None or event.kind != "call" or event.place != found.place:
                break
            better = None
            for right in flow.missing(index)[:MOST_TRIED]:
                tried = {**patches, event.number: right.numbers}
                trace, again = self._recorded(wrong.scenario, exact=exact, patches=tried)
                if same(wrong.scenario, self._key.right(wrong.scenario, again.free), again):
                    return replace(found, proved=True, expected=expected or right.name)
                after = Flow(trace, self.source, flow.right)
                if len(after.vindicated) > len(flow.vindicated) + 1:
                    better, patches, expected = after, tried, expected or right.name
                    break
            if better is None:
                break
            flow, index = better, first_wrong(better)
        return found

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

    def right_values(self, scenario: Scenario, free: Free, *, exact: bool) -> list[RightValues]:
        """The values in a scenario: of the exercise's solution, of its reference, and of both together."""
        close = CLOSE if exact else CLOSE_IN[scenario.dtype]
        solved, reference, both = (RightValues(close) for _ in range(3))
        steps = labelled(self.subject.bases[0], reference)
        with Collector(reference):
            run(
                scenario,
                LocalSubmission(self.subject.namespace(steps)),
                exact=exact,
                seed=self.seed,
                free=free or None,
            )
        text = solution_text(scenario.component)
        if text:
            solution = LocalSubmission.from_source(text, filename=SOLUTION)
            solution.record()
            run(scenario, solution, exact=exact, seed=self.seed, free=free or None)
            solved.trace(solution.recorded())
        both.join(solved)
        both.join(reference)
        return [solved, reference, both]


def solution_text(component: str) -> str:
    """The solution of the exercise that a component belongs to, or ""."""
    for one in get_exercises().values():
        if component in one.components:
            solution = resources.files(one.package) / SOLUTION
            return solution.read_text(encoding="utf-8") if solution.is_file() else ""
    return ""
