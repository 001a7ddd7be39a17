"""Hidden tests of `MultiHeadAttention`: each looks at its share of the exam's cases."""

from __future__ import annotations

import pytest

from grader.core.submission import Submission
from grader.engine.exam import is_gradient, is_result, is_shape
from grader.exercises.attention.suite.alone import (
    drops_weights,
    forgets,
    ignores_dropout,
    keeps_dtype,
    stays_finite,
)
from grader.exercises.attention.suite.exams import exam
from grader.exercises.attention.suite.parameters import check_arguments, check_parameters, check_reached


@pytest.mark.grade(category="behaviour", points=1, title="class: d_model must divide by num_heads")
def test_arguments(component: Submission) -> None:
    check_arguments(component)


@pytest.mark.grade(category="parameters", points=2, title="class: registers four projections")
def test_parameters(component: Submission, seed: int) -> None:
    check_parameters(exam(component, seed))


@pytest.mark.grade(category="shape", points=1, title="class: gives [batch, queries, d_model]")
def test_shapes(component: Submission, seed: int) -> None:
    exam(component, seed).check("class", "numbers", only=is_shape)


@pytest.mark.grade(category="numerics", points=4, title="class: is multi-head attention")
def test_numbers(component: Submission, seed: int) -> None:
    exam(component, seed).check("class", "numbers")


@pytest.mark.grade(category="numerics", points=1, title="class: finite when scores are large")
def test_large_scores(component: Submission, seed: int) -> None:
    exam(component, seed).check_alone("class", "large scores", holds=stays_finite)


@pytest.mark.grade(category="masking", points=2, title="class: honours bool masks")
def test_bool_masks(component: Submission, seed: int) -> None:
    exam(component, seed).check("class", "bool masks")


@pytest.mark.grade(category="masking", points=1, title="class: honours additive masks")
def test_additive_masks(component: Submission, seed: int) -> None:
    exam(component, seed).check("class", "additive masks")


@pytest.mark.grade(category="masking", points=1, title="class: nothing leaks past the mask")
def test_leaks(component: Submission, seed: int) -> None:
    exam(component, seed).check("class", "leaks")


@pytest.mark.grade(category="masking", points=1, title="class: finite where all keys are masked")
def test_empty_rows(component: Submission, seed: int) -> None:
    exam(component, seed).check_alone("class", "empty rows", holds=stays_finite)


@pytest.mark.grade(category="gradients", points=2, title="class: right gradients, parameters too")
def test_gradients(component: Submission, seed: int) -> None:
    one = exam(component, seed)
    one.check("class", "gradients", only=is_gradient)
    check_reached(one)


@pytest.mark.grade(category="behaviour", points=1, title="class: does not drop in eval mode")
def test_eval_mode(component: Submission, seed: int) -> None:
    exam(component, seed).check_alone("class", "dropout in eval", holds=ignores_dropout)


@pytest.mark.grade(category="behaviour", points=1, title="class: drops weights in train mode")
def test_dropout(component: Submission, seed: int) -> None:
    exam(component, seed).check_alone("class", "dropout", holds=drops_weights)


@pytest.mark.grade(category="behaviour", points=1, title="class: keeps the dtype of its inputs")
def test_dtypes(component: Submission, seed: int) -> None:
    exam(component, seed).check_alone("class", "dtypes", holds=keeps_dtype)


@pytest.mark.grade(category="behaviour", points=1, title="class: same result, inputs left alone")
def test_same_every_time(component: Submission, seed: int) -> None:
    one = exam(component, seed)
    one.check("class", only=lambda _case, name: name == "changed")
    one.check_repeats("class")
    one.check_alone("class", "state", holds=forgets, only=is_result)


@pytest.mark.grade(category="behaviour", points=1, title="class: tensors on its inputs' device")
def test_devices(component: Submission, seed: int) -> None:
    exam(component, seed).check_devices("class")
