"""Hidden tests of `CachedAttention`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.kv_cache.suite.scenarios import NAME, grading

CHANGED = "changed in place"


def content(name: str) -> bool:
    return name != CHANGED


@pytest.mark.grade(category="parameters", points=1, title="four projections, d_model x d_model each")
def test_parameters(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "parameters")


@pytest.mark.grade(category="numerics", points=1, title="one step without a cache")
def test_first_step(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "first", only=content)


@pytest.mark.grade(category="numerics", points=4, title="step by step = full causal attention")
def test_steps(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "steps", only=content)


@pytest.mark.grade(category="behaviour", points=3, title="keeps no state in the module")
def test_memory(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "memory", only=content)


@pytest.mark.grade(category="gradients", points=1, title="gradients through the current step")
def test_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "gradients")


@pytest.mark.grade(category="behaviour", points=1, title="d_model % num_heads raises ValueError")
def test_refusal(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "refusal")


@pytest.mark.grade(category="behaviour", points=1, title="accepts keyword arguments")
def test_keywords(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "keywords", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="preserves float64 and bfloat16")
def test_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "dtypes", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="does not modify its input")
def test_input_left_alone(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, only=lambda name: name == CHANGED)


@pytest.mark.grade(category="behaviour", points=1, title="works on the device of its input")
def test_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices(NAME, "steps")
