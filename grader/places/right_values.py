"""The values of right runs of one scenario, which a wrong run is compared with."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from typing import Any

import torch

from grader.catalog import get_exercises
from grader.engine.local import LocalSubmission
from grader.engine.scenario import Free, Scenario
from grader.engine.subject import Subject, run
from grader.places.alignment import CLOSE, STEP, Collector, RightValues, labelled, level

MOST_KEPT = 24  # scenarios of which the right values are kept
CLOSE_IN = {torch.float32: 3e-5, torch.float64: CLOSE, torch.bfloat16: 3e-2}
SOLUTION = "solution.py"


@lru_cache(maxsize=MOST_KEPT)
def right_values_of(
    subject: Subject, seed: int, scenario: Scenario, free: Free, exact: bool
) -> tuple[RightValues, ...]:
    """The values in a scenario: of the exercise's solution, of its reference, and of both together."""
    close = CLOSE if exact else CLOSE_IN[scenario.dtype]
    solved, reference, both = (RightValues(close) for _ in range(3))
    code = LocalSubmission(subject.namespace(labelled(subject.bases[0], reference)))
    with Collector(reference):
        run(scenario, code, exact=exact, seed=seed, free=free or None)
    text = solution_text(scenario.component)
    if text:
        solution = LocalSubmission.from_source(text, filename=SOLUTION)
        solution.record()
        run(scenario, solution, exact=exact, seed=seed, free=free or None)
        solved.trace(solution.recorded())
    both.join(solved)
    both.join(reference)
    return solved, reference, both


def mistaken_values_of(
    subject: Subject, seed: int, scenario: Scenario, free: Free, exact: bool, steps: Any
) -> RightValues:
    """The values that a run with a known mistake has, and no right run has up to layout; of its steps, in no layout.

    Only those before the first list that is one: where other ids or sums decide how it goes on, all is another.

    Args:
        steps: of the exercise, with the mistake.
    """
    right = right_values_of(subject, seed, scenario, free, exact)[2]
    every, found = RightValues(right.close), RightValues(right.close)
    code = LocalSubmission(subject.namespace(labelled(steps, every)))
    with Collector(every):
        run(scenario, code, exact=exact, seed=seed, free=free or None)
    lists = ((order, one) for order, one in every.plain_steps if isinstance(one, list))
    most = next((order for order, one in lists if not right.has_plain(one, STEP)), len(every.values))
    for one in every.values[:most]:
        known = right.find(one.numbers)
        says = not level(one.numbers) or (one.numbers.numel() == 1 and bool(one.numbers.frac()))
        if says and (known is None or (one.name and not right.has(one.numbers))):
            found.add(one.name, one.numbers)
    return found


def solution_text(component: str) -> str:
    """The solution of the exercise that a component belongs to, or ""."""
    for one in get_exercises().values():
        if component in one.components:
            solution = resources.files(one.package) / SOLUTION
            return solution.read_text(encoding="utf-8") if solution.is_file() else ""
    return ""
