"""Hidden tests of `PreNorm` and `PostNorm`: each looks at its share of the scenarios."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from grader.api import Submission
from grader.exercises.norm.suite.places import POST, PRE
from grader.exercises.norm.suite.scenarios import grading

IN_PLACE = "changed in place"


def _look(
    component: Submission, seed: int, name: str, *groups: str, only: Callable[[str], bool] | None = None
) -> None:
    grading(component, seed).check(name, *groups, only=only or (lambda n: n != IN_PLACE))


@pytest.mark.grade(category="parameters", points=1, title="PreNorm registers its parts, not copies")
def test_pre_parts(component: Submission, seed: int) -> None:
    _look(component, seed, PRE, "parts")


@pytest.mark.grade(category="numerics", points=2, title="PreNorm computes x + f(norm(x))")
def test_pre_numbers(component: Submission, seed: int) -> None:
    _look(component, seed, PRE, "numbers")


@pytest.mark.grade(category="behaviour", points=1, title="PreNorm passes all arguments on")
def test_pre_arguments(component: Submission, seed: int) -> None:
    _look(component, seed, PRE, "arguments")


@pytest.mark.grade(category="behaviour", points=1, title="PreNorm: no dropout in eval mode")
def test_pre_eval(component: Submission, seed: int) -> None:
    _look(component, seed, PRE, "eval")


@pytest.mark.grade(category="behaviour", points=1, title="PreNorm: dropout on the sublayer's output")
def test_pre_train(component: Submission, seed: int) -> None:
    _look(component, seed, PRE, "train")


@pytest.mark.grade(category="gradients", points=1, title="PreNorm: gradients")
def test_pre_gradients(component: Submission, seed: int) -> None:
    _look(component, seed, PRE, "gradients")


@pytest.mark.grade(category="behaviour", points=1, title="PreNorm preserves dtype and input")
def test_pre_dtypes(component: Submission, seed: int) -> None:
    _look(component, seed, PRE, only=lambda _n: True)


@pytest.mark.grade(category="parameters", points=1, title="PostNorm registers its parts, not copies")
def test_post_parts(component: Submission, seed: int) -> None:
    _look(component, seed, POST, "parts")


@pytest.mark.grade(category="numerics", points=2, title="PostNorm computes norm(x + f(x))")
def test_post_numbers(component: Submission, seed: int) -> None:
    _look(component, seed, POST, "numbers")


@pytest.mark.grade(category="behaviour", points=1, title="PostNorm passes all arguments on")
def test_post_arguments(component: Submission, seed: int) -> None:
    _look(component, seed, POST, "arguments")


@pytest.mark.grade(category="behaviour", points=1, title="PostNorm: no dropout in eval mode")
def test_post_eval(component: Submission, seed: int) -> None:
    _look(component, seed, POST, "eval")


@pytest.mark.grade(category="behaviour", points=1, title="PostNorm: dropout on the sublayer's output")
def test_post_train(component: Submission, seed: int) -> None:
    _look(component, seed, POST, "train")


@pytest.mark.grade(category="gradients", points=1, title="PostNorm: gradients")
def test_post_gradients(component: Submission, seed: int) -> None:
    _look(component, seed, POST, "gradients")


@pytest.mark.grade(category="behaviour", points=1, title="PostNorm preserves dtype and input")
def test_post_dtypes(component: Submission, seed: int) -> None:
    _look(component, seed, POST, only=lambda _n: True)


@pytest.mark.grade(category="behaviour", points=1, title="both work on the device of their input")
def test_place_devices(component: Submission, seed: int) -> None:
    for name in (PRE, POST):
        grading(component, seed).check_devices(name, "numbers")
