"""Hidden tests of `FeedForward`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.feedforward.suite.scenarios import NAME, grading


@pytest.mark.grade(category="parameters", points=1, title="has the parameters of two linear layers")
def test_parameters(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "numbers", only=lambda name: name in ("own parameters", "trained"))


@pytest.mark.grade(category="numerics", points=3, title="computes max(0, x W1 + b1) W2 + b2")
def test_numbers(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "numbers", only=lambda name: name != "changed in place")


@pytest.mark.grade(category="gradients", points=1, title="gradients of input and parameters")
def test_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "gradients")


@pytest.mark.grade(category="behaviour", points=1, title="no dropout in eval mode")
def test_eval(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "eval")


@pytest.mark.grade(category="behaviour", points=2, title="dropout of hidden values in train mode")
def test_train(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "train")


@pytest.mark.grade(category="behaviour", points=1, title="keeps the dtype of its input")
def test_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "dtypes")


@pytest.mark.grade(category="behaviour", points=1, title="does not modify its input")
def test_input_left_alone(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "numbers", only=lambda name: name == "changed in place")


@pytest.mark.grade(category="behaviour", points=1, title="works on the device of its input")
def test_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices(NAME, "numbers")
