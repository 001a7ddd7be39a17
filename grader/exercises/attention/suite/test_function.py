"""Hidden tests of `scaled_dot_product_attention`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.attention.reference import FUNCTION
from grader.exercises.attention.suite.parameters import content, is_change, is_gradient, is_shape
from grader.exercises.attention.suite.scenarios import grading


@pytest.mark.grade(category="shape", points=2, title="function: shapes of (output, weights)")
def test_shapes(component: Submission, seed: int) -> None:
    grading(component, seed).check(FUNCTION, "numbers", only=is_shape)


@pytest.mark.grade(category="numerics", points=4, title="function: softmax(Q K^T / sqrt(d_k)) V")
def test_numbers(component: Submission, seed: int) -> None:
    grading(component, seed).check(FUNCTION, "numbers", only=content)


@pytest.mark.grade(category="numerics", points=1, title="function: finite when scores are large")
def test_large_scores(component: Submission, seed: int) -> None:
    grading(component, seed).check(FUNCTION, "large scores", only=content, beside="numbers")


@pytest.mark.grade(category="masking", points=3, title="function: applies bool masks")
def test_bool_masks(component: Submission, seed: int) -> None:
    grading(component, seed).check(FUNCTION, "bool masks", only=content)


@pytest.mark.grade(category="masking", points=2, title="function: applies additive masks")
def test_additive_masks(component: Submission, seed: int) -> None:
    grading(component, seed).check(FUNCTION, "additive masks", only=content)


@pytest.mark.grade(category="masking", points=1, title="function: masked keys have no influence")
def test_leaks(component: Submission, seed: int) -> None:
    grading(component, seed).check(FUNCTION, "leaks", only=content)


@pytest.mark.grade(category="masking", points=2, title="function: finite where all keys are masked")
def test_empty_rows(component: Submission, seed: int) -> None:
    grading(component, seed).check(FUNCTION, "empty rows", only=content, beside="numbers")


@pytest.mark.grade(category="gradients", points=2, title="function: gradients of its inputs")
def test_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(FUNCTION, "gradients", only=is_gradient)


@pytest.mark.grade(category="behaviour", points=1, title="function: keeps the dtype of its inputs")
def test_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(FUNCTION, "dtypes", only=content, beside="numbers")


@pytest.mark.grade(category="behaviour", points=1, title="function: does not modify its inputs")
def test_inputs_unchanged(component: Submission, seed: int) -> None:
    grading(component, seed).check(FUNCTION, only=is_change, errors=False)


@pytest.mark.grade(category="behaviour", points=1, title="function: deterministic")
def test_same_every_time(component: Submission, seed: int) -> None:
    grading(component, seed).check(FUNCTION, "state", only=content, beside="numbers", errors=False)


@pytest.mark.grade(category="behaviour", points=1, title="function: works on the device of its inputs")
def test_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices(FUNCTION, "bool masks")
