"""Hidden tests of `greedy_decode`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.decoding.suite.cases import GREEDY
from grader.exercises.decoding.suite.scenarios import changed, content, form, grading


@pytest.mark.grade(category="shape", points=1, title="greedy_decode: int64 ids [B, <= max_len]")
def test_greedy_form(component: Submission, seed: int) -> None:
    grading(component, seed).check(GREEDY, "plain", only=form)


@pytest.mark.grade(category="numerics", points=3, title="greedy_decode: most probable id at each step")
def test_greedy_ids(component: Submission, seed: int) -> None:
    grading(component, seed).check(GREEDY, "plain", only=content)


@pytest.mark.grade(category="masking", points=3, title="greedy_decode: rows end at different steps")
def test_greedy_ends(component: Submission, seed: int) -> None:
    grading(component, seed).check(GREEDY, "ends", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="greedy_decode: at most max_len ids")
def test_greedy_limit(component: Submission, seed: int) -> None:
    grading(component, seed).check(GREEDY, "limit", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="greedy_decode: other ids for SOS, EOS, PAD")
def test_greedy_special(component: Submission, seed: int) -> None:
    grading(component, seed).check(GREEDY, "ids", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="greedy_decode: deterministic")
def test_greedy_chance(component: Submission, seed: int) -> None:
    grading(component, seed).check(GREEDY, "again")


@pytest.mark.grade(category="behaviour", points=1, title="greedy_decode: no gradients, mode restored")
def test_greedy_model(component: Submission, seed: int) -> None:
    grading(component, seed).check(GREEDY, "model")


@pytest.mark.grade(category="behaviour", points=1, title="greedy_decode: models of other dtypes")
def test_greedy_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(GREEDY, "dtypes", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="greedy_decode: does not modify src")
def test_greedy_source(component: Submission, seed: int) -> None:
    grading(component, seed).check(GREEDY, only=changed)


@pytest.mark.grade(category="behaviour", points=1, title="greedy_decode: on the device of src")
def test_greedy_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices(GREEDY, "ends")
