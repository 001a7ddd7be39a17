"""Hidden tests of `train_step`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.training.suite.scenarios import STEP, grading


def is_input(name: str) -> bool:
    return name in ("source that the model was given", "decoder input")


def loss(name: str) -> bool:
    return "loss" in name


def mode(name: str) -> bool:
    return name.startswith("mode")


def parameters(name: str) -> bool:
    return name in (
        "parameter src after the step",
        "parameter tgt after the step",
        "parameter head after the step",
        "steps of the optimizer",
    )


@pytest.mark.grade(category="behaviour", points=1, title="train_step: model(src, shift_right(tgt))")
def test_step_input(component: Submission, seed: int) -> None:
    grading(component, seed).check(STEP, "step", only=is_input)


@pytest.mark.grade(category="numerics", points=2, title="train_step: the loss of this batch, a float")
def test_step_loss(component: Submission, seed: int) -> None:
    grading(component, seed).check(STEP, "step", only=loss)


@pytest.mark.grade(category="behaviour", points=1, title="train_step: sets train mode and keeps it")
def test_step_mode(component: Submission, seed: int) -> None:
    grading(component, seed).check(STEP, "step", only=mode)


@pytest.mark.grade(category="gradients", points=3, title="train_step: one optimizer step")
def test_step_parameters(component: Submission, seed: int) -> None:
    grading(component, seed).check(STEP, "step", only=parameters)


@pytest.mark.grade(category="gradients", points=1, title="train_step: clears old gradients")
def test_step_stale(component: Submission, seed: int) -> None:
    grading(component, seed).check(STEP, "stale")


@pytest.mark.grade(category="behaviour", points=1, title="train_step: models of other dtypes")
def test_step_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(STEP, "dtypes")


@pytest.mark.grade(category="behaviour", points=1, title="train_step: keeps src, tgt and the rate")
def test_step_untouched(component: Submission, seed: int) -> None:
    grading(component, seed).check(STEP)


@pytest.mark.grade(category="behaviour", points=1, title="train_step: on the device of the batch")
def test_step_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices(STEP, "step")
