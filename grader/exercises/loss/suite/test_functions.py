"""Hidden tests of `shift_right` and `sequence_loss`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.loss.suite.scenarios import LOSS, SHIFT, grading

CHANGED = "changed in place"


def form(name: str) -> bool:
    return name in ("shape", "result")


def content(name: str) -> bool:
    return name not in ("shape", "result", CHANGED)


@pytest.mark.grade(category="shape", points=1, title="shift_right: [B, L] like the target")
def test_shift_shape(component: Submission, seed: int) -> None:
    grading(component, seed).check(SHIFT, "numbers", only=form)


@pytest.mark.grade(category="numerics", points=3, title="shift_right: SOS, then all but the last")
def test_shift(component: Submission, seed: int) -> None:
    grading(component, seed).check(SHIFT, "numbers", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="shift_right: another id for SOS")
def test_shift_sos(component: Submission, seed: int) -> None:
    grading(component, seed).check(SHIFT, "sos", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="shift_right: ids keep their dtype")
def test_shift_dtype(component: Submission, seed: int) -> None:
    grading(component, seed).check(SHIFT, "dtype", only=content)


@pytest.mark.grade(category="shape", points=1, title="sequence_loss: a scalar")
def test_loss_shape(component: Submission, seed: int) -> None:
    grading(component, seed).check(LOSS, "plain", only=form)


@pytest.mark.grade(category="numerics", points=3, title="sequence_loss: the mean over tokens")
def test_loss(component: Submission, seed: int) -> None:
    grading(component, seed).check(LOSS, "plain", only=content)


@pytest.mark.grade(category="masking", points=3, title="sequence_loss: PAD does not count")
def test_loss_padding(component: Submission, seed: int) -> None:
    grading(component, seed).check(LOSS, "padding", only=content)


@pytest.mark.grade(category="masking", points=1, title="sequence_loss: another id for PAD")
def test_loss_pad(component: Submission, seed: int) -> None:
    grading(component, seed).check(LOSS, "pad", only=content)


@pytest.mark.grade(category="numerics", points=2, title="sequence_loss: label smoothing")
def test_loss_smoothing(component: Submission, seed: int) -> None:
    grading(component, seed).check(LOSS, "smoothing", only=content)


@pytest.mark.grade(category="numerics", points=1, title="sequence_loss: finite for large logits")
def test_loss_large(component: Submission, seed: int) -> None:
    grading(component, seed).check(LOSS, "large", only=content)


@pytest.mark.grade(category="gradients", points=2, title="sequence_loss: gradients")
def test_loss_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(LOSS, "gradients")


@pytest.mark.grade(category="behaviour", points=1, title="sequence_loss: arguments by name or position")
def test_loss_keywords(component: Submission, seed: int) -> None:
    grading(component, seed).check(LOSS, "keywords", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="sequence_loss: non-contiguous inputs")
def test_loss_memory(component: Submission, seed: int) -> None:
    grading(component, seed).check(LOSS, "memory", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="sequence_loss: in the dtype of the logits")
def test_loss_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(LOSS, "dtypes", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="neither modifies its arguments")
def test_arguments_left_alone(component: Submission, seed: int) -> None:
    for name in (SHIFT, LOSS):
        grading(component, seed).check(name, only=lambda value: value == CHANGED)


@pytest.mark.grade(category="behaviour", points=1, title="sequence_loss: on its input's device")
def test_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices("sequence_loss")
