"""Hidden tests of `noam`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.training.suite.scenarios import RATE, grading


@pytest.mark.grade(category="numerics", points=1, title="noam: linear during the warm-up")
def test_noam_grows(component: Submission, seed: int) -> None:
    grading(component, seed).check(RATE, "grows", only=lambda name: name != "type")


@pytest.mark.grade(category="numerics", points=1, title="noam: then proportional to step ** -0.5")
def test_noam_falls(component: Submission, seed: int) -> None:
    grading(component, seed).check(RATE, "falls", only=lambda name: name != "type")


@pytest.mark.grade(category="behaviour", points=1, title="noam: a float; keyword arguments")
def test_noam_float(component: Submission, seed: int) -> None:
    grading(component, seed).check(RATE)
