"""Hidden tests of `beam_search`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.decoding.suite.cases import BEAM
from grader.exercises.decoding.suite.scenarios import changed, content, form, grading


@pytest.mark.grade(category="shape", points=1, title="beam_search: int64 ids [B, <= max_len]")
def test_beam_form(component: Submission, seed: int) -> None:
    grading(component, seed).check(BEAM, "one", only=form)


@pytest.mark.grade(category="numerics", points=1, title="beam_search: beam=1 is greedy")
def test_beam_one(component: Submission, seed: int) -> None:
    grading(component, seed).check(BEAM, "one", only=content)


@pytest.mark.grade(category="numerics", points=3, title="beam_search: finds more than greedy")
def test_beam_search(component: Submission, seed: int) -> None:
    grading(component, seed).check(BEAM, "search", only=content)


@pytest.mark.grade(category="numerics", points=2, title="beam_search: the length penalty decides")
def test_beam_penalty(component: Submission, seed: int) -> None:
    grading(component, seed).check(BEAM, "penalty", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="beam_search: at most max_len ids")
def test_beam_limit(component: Submission, seed: int) -> None:
    grading(component, seed).check(BEAM, "limit", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="beam_search: other ids for SOS, EOS, PAD")
def test_beam_special(component: Submission, seed: int) -> None:
    grading(component, seed).check(BEAM, "ids", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="beam_search: no gradients, mode restored")
def test_beam_model(component: Submission, seed: int) -> None:
    grading(component, seed).check(BEAM, "model")


@pytest.mark.grade(category="behaviour", points=1, title="beam_search: a model of another dtype")
def test_beam_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(BEAM, "dtypes", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="beam_search: does not modify src")
def test_beam_source(component: Submission, seed: int) -> None:
    grading(component, seed).check(BEAM, only=changed)


@pytest.mark.grade(category="behaviour", points=1, title="beam_search: on the device of src")
def test_beam_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices(BEAM, "search")
