"""Hidden tests of `LayerNorm`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.norm.suite.scenarios import NAME, grading

PLACED_IN = "changed in place"


@pytest.mark.grade(category="parameters", points=1, title="LayerNorm starts with gain 1 and bias 0")
def test_parameters(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "parameters", only=lambda n: n not in ("output", PLACED_IN))


@pytest.mark.grade(category="numerics", points=3, title="LayerNorm normalizes the last dimension")
def test_numbers(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "parameters", "numbers", only=lambda n: n != PLACED_IN)


@pytest.mark.grade(category="numerics", points=1, title="LayerNorm uses eps, inside the root")
def test_eps(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "eps", only=lambda n: n != PLACED_IN)


@pytest.mark.grade(category="numerics", points=1, title="LayerNorm handles unusual inputs")
def test_edges(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "edges", only=lambda n: n != PLACED_IN)


@pytest.mark.grade(category="gradients", points=1, title="LayerNorm: gradients")
def test_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "gradients", only=lambda n: n != PLACED_IN)


@pytest.mark.grade(category="behaviour", points=1, title="LayerNorm keeps the dtype of its input")
def test_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "dtypes", only=lambda n: n != PLACED_IN)


@pytest.mark.grade(category="behaviour", points=1, title="LayerNorm does not modify its input")
def test_input_left_alone(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, only=lambda n: n == PLACED_IN)


@pytest.mark.grade(category="behaviour", points=1, title="LayerNorm works on its input's device")
def test_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices(NAME, "numbers")
