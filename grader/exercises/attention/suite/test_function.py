"""Hidden tests of `scaled_dot_product_attention`: each looks at its share of the exam's cases."""

from __future__ import annotations

import pytest

from grader.core.submission import Submission
from grader.engine.exam import is_gradient, is_result, is_shape
from grader.exercises.attention.suite.alone import forgets, keeps_dtype, stays_finite
from grader.exercises.attention.suite.exams import exam


@pytest.mark.grade(category="shape", points=2, title="function: (output, weights), right shapes")
def test_shapes(component: Submission, seed: int) -> None:
    exam(component, seed).check("function", "numbers", only=is_shape)


@pytest.mark.grade(category="numerics", points=4, title="function: softmax(Q K^T / sqrt(d_k)) V")
def test_numbers(component: Submission, seed: int) -> None:
    exam(component, seed).check("function", "numbers")


@pytest.mark.grade(category="numerics", points=1, title="function: finite when scores are large")
def test_large_scores(component: Submission, seed: int) -> None:
    exam(component, seed).check_alone("function", "large scores", holds=stays_finite)


@pytest.mark.grade(category="masking", points=3, title="function: honours bool masks")
def test_bool_masks(component: Submission, seed: int) -> None:
    exam(component, seed).check("function", "bool masks")


@pytest.mark.grade(category="masking", points=2, title="function: honours additive masks")
def test_additive_masks(component: Submission, seed: int) -> None:
    exam(component, seed).check("function", "additive masks")


@pytest.mark.grade(category="masking", points=1, title="function: nothing leaks past the mask")
def test_leaks(component: Submission, seed: int) -> None:
    exam(component, seed).check("function", "leaks")


@pytest.mark.grade(category="masking", points=2, title="function: finite where all keys are masked")
def test_empty_rows(component: Submission, seed: int) -> None:
    exam(component, seed).check_alone("function", "empty rows", holds=stays_finite)


@pytest.mark.grade(category="gradients", points=2, title="function: right gradients")
def test_gradients(component: Submission, seed: int) -> None:
    exam(component, seed).check("function", "gradients", only=is_gradient)


@pytest.mark.grade(category="behaviour", points=1, title="function: keeps the dtype of its inputs")
def test_dtypes(component: Submission, seed: int) -> None:
    exam(component, seed).check_alone("function", "dtypes", holds=keeps_dtype)


@pytest.mark.grade(category="behaviour", points=1, title="function: leaves its inputs alone")
def test_inputs_unchanged(component: Submission, seed: int) -> None:
    exam(component, seed).check("function", only=lambda _case, name: name == "changed")


@pytest.mark.grade(category="behaviour", points=1, title="function: same result every time")
def test_same_every_time(component: Submission, seed: int) -> None:
    one = exam(component, seed)
    one.check_repeats("function")
    one.check_alone("function", "state", holds=forgets, only=is_result)


@pytest.mark.grade(category="behaviour", points=1, title="function: tensors on its inputs' device")
def test_devices(component: Submission, seed: int) -> None:
    exam(component, seed).check_devices("function")
