"""Hidden tests of `MultiHeadAttention`: each looks at its share of the cases."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.attention.reference import CLASS
from grader.exercises.attention.suite.parameters import (
    check_arguments,
    content,
    is_change,
    is_gradient,
    is_shape,
)
from grader.exercises.attention.suite.scenarios import grading


@pytest.mark.grade(category="behaviour", points=1, title="class: d_model % num_heads must be 0")
def test_arguments(component: Submission, seed: int) -> None:
    check_arguments(component, seed)


@pytest.mark.grade(category="parameters", points=2, title="class: registers four projections")
def test_parameters(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "parameters")


@pytest.mark.grade(category="shape", points=1, title="class: returns [batch, queries, d_model]")
def test_shapes(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "numbers", only=is_shape)


@pytest.mark.grade(category="numerics", points=4, title="class: computes multi-head attention")
def test_numbers(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "numbers", only=content)


@pytest.mark.grade(category="numerics", points=1, title="class: finite when scores are large")
def test_large_scores(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "large scores", only=content, beside="numbers")


@pytest.mark.grade(category="masking", points=2, title="class: applies bool masks")
def test_bool_masks(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "bool masks", only=content)


@pytest.mark.grade(category="masking", points=1, title="class: applies additive masks")
def test_additive_masks(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "additive masks", only=content)


@pytest.mark.grade(category="masking", points=1, title="class: masked keys have no influence")
def test_leaks(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "leaks", only=content)


@pytest.mark.grade(category="masking", points=1, title="class: finite where all keys are masked")
def test_empty_rows(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "empty rows", only=content, beside="numbers")


@pytest.mark.grade(category="gradients", points=2, title="class: gradients of inputs and parameters")
def test_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "gradients", only=is_gradient)


@pytest.mark.grade(category="behaviour", points=1, title="class: no dropout in eval mode")
def test_eval_mode(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "dropout in eval", only=content, beside="numbers", errors=False)


@pytest.mark.grade(category="behaviour", points=1, title="class: dropout of weights in train mode")
def test_dropout(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "dropout", only=content, beside="numbers")


@pytest.mark.grade(category="behaviour", points=1, title="class: keeps the dtype of its inputs")
def test_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(CLASS, "dtypes", only=content, beside="numbers")


@pytest.mark.grade(category="behaviour", points=1, title="class: deterministic, inputs not modified")
def test_same_every_time(component: Submission, seed: int) -> None:
    one = grading(component, seed)
    one.check(CLASS, only=is_change, errors=False)
    one.check(CLASS, "state", only=content, beside="numbers", errors=False)


@pytest.mark.grade(category="behaviour", points=1, title="class: works on the device of its inputs")
def test_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices(CLASS, "bool masks")
