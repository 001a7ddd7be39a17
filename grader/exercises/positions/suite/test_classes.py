"""Hidden tests of `SinusoidalPositions` and `LearnedPositions`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.positions.reference import LEARNED, SINUSOIDAL
from grader.exercises.positions.suite.scenarios import grading

COUNTED = ("parameters", "trainable parameters")
CHANGED = "changed in place"


def numbers(name: str) -> bool:
    return name not in (*COUNTED, CHANGED)


@pytest.mark.grade(category="parameters", points=1, title="sinusoidal: no trainable parameters")
def test_sinusoidal_parameters(component: Submission, seed: int) -> None:
    grading(component, seed).check(SINUSOIDAL, "numbers", only=lambda name: name in COUNTED)


@pytest.mark.grade(category="numerics", points=4, title="sinusoidal: x + interleaved sin and cos")
def test_sinusoidal_numbers(component: Submission, seed: int) -> None:
    grading(component, seed).check(SINUSOIDAL, "numbers", only=numbers)


@pytest.mark.grade(category="numerics", points=1, title="sinusoidal: an odd d_model")
def test_sinusoidal_odd(component: Submission, seed: int) -> None:
    grading(component, seed).check(SINUSOIDAL, "odd", only=numbers)


@pytest.mark.grade(category="gradients", points=1, title="sinusoidal: the gradient reaches x")
def test_sinusoidal_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(SINUSOIDAL, "gradients")


@pytest.mark.grade(category="behaviour", points=1, title="sinusoidal: any length up to max_len")
def test_sinusoidal_longest(component: Submission, seed: int) -> None:
    grading(component, seed).check(SINUSOIDAL, "longest", only=numbers)


@pytest.mark.grade(category="behaviour", points=1, title="sinusoidal: ValueError if T > max_len")
def test_sinusoidal_too_long(component: Submission, seed: int) -> None:
    grading(component, seed).check(SINUSOIDAL, "too long")


@pytest.mark.grade(category="behaviour", points=1, title="sinusoidal: same result in train mode")
def test_sinusoidal_train(component: Submission, seed: int) -> None:
    grading(component, seed).check(SINUSOIDAL, "train")


@pytest.mark.grade(category="behaviour", points=1, title="sinusoidal: keeps the dtype of its input")
def test_sinusoidal_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(SINUSOIDAL, "dtypes", only=numbers)


@pytest.mark.grade(category="parameters", points=1, title="learned: max_len x d_model parameters")
def test_learned_parameters(component: Submission, seed: int) -> None:
    grading(component, seed).check(LEARNED, "numbers", only=lambda name: name in COUNTED)


@pytest.mark.grade(category="numerics", points=2, title="learned: x + row t at position t")
def test_learned_numbers(component: Submission, seed: int) -> None:
    grading(component, seed).check(LEARNED, "numbers", only=numbers)


@pytest.mark.grade(category="numerics", points=1, title="learned: an odd d_model")
def test_learned_odd(component: Submission, seed: int) -> None:
    grading(component, seed).check(LEARNED, "odd", only=numbers)


@pytest.mark.grade(category="gradients", points=1, title="learned: gradients of x and the rows")
def test_learned_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(LEARNED, "gradients")


@pytest.mark.grade(category="behaviour", points=1, title="learned: any length up to max_len")
def test_learned_longest(component: Submission, seed: int) -> None:
    grading(component, seed).check(LEARNED, "longest", only=numbers)


@pytest.mark.grade(category="behaviour", points=1, title="learned: ValueError if T > max_len")
def test_learned_too_long(component: Submission, seed: int) -> None:
    grading(component, seed).check(LEARNED, "too long")


@pytest.mark.grade(category="behaviour", points=1, title="learned: same result in train mode")
def test_learned_train(component: Submission, seed: int) -> None:
    grading(component, seed).check(LEARNED, "train")


@pytest.mark.grade(category="behaviour", points=1, title="learned: keeps the dtype of its input")
def test_learned_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(LEARNED, "dtypes", only=numbers)


@pytest.mark.grade(category="behaviour", points=1, title="neither modifies its input")
def test_input_left_alone(component: Submission, seed: int) -> None:
    for name in (SINUSOIDAL, LEARNED):
        grading(component, seed).check(name, "numbers", only=lambda value: value == CHANGED)


@pytest.mark.grade(category="behaviour", points=1, title="sinusoidal: on the device of its input")
def test_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices(SINUSOIDAL, cause="table-dtype-stays")
