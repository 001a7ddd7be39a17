"""What is asked is asked with numbers on which rounding shows little: right code stays far within the bounds."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

from grader.catalog import get_exercises
from grader.engine.contrast import bound
from grader.engine.local import LocalSubmission
from grader.engine.subject import Subject, run
from grader.engine.wording import deviation

EXERCISES = sorted(get_exercises())
SEEDS = (*range(4), 1000, 7000)
WORST = 1174  # bfloat16 was off by more than was allowed
SHARE = 0.5  # of the bound; other right code rounds otherwise


def off(subject: Subject, seed: int) -> Iterator[tuple[str, float]]:
    """How far the reference, in each scenario's dtype, is from the right answer: as a share of what is allowed."""
    code = LocalSubmission(subject.namespace(subject.bases[0]))
    for scenario in subject.scenarios(seed):
        right = run(scenario, code, exact=True, seed=seed)
        got = run(scenario, code, seed=seed)
        for name, value in right.values.items():
            if value.is_floating_point() and name in got.values:
                share = deviation(value, got.values[name]) / bound(scenario, name, value)
                yield f"{scenario.component}, {scenario.title}, {name}", share


@pytest.mark.parametrize("exercise", EXERCISES)
@pytest.mark.parametrize("seeds", [(WORST,), pytest.param(SEEDS, marks=pytest.mark.slow)], ids=str)
@pytest.mark.sampled(3)
def test_the_reference_rounds_to_well_within_the_bounds(exercise: str, seeds: tuple[int, ...]) -> None:
    subject: Subject = importlib.import_module(f"grader.exercises.{exercise}.suite.scenarios").SUBJECT
    for seed in seeds:
        assert not {what: share for what, share in off(subject, seed) if share > SHARE}
