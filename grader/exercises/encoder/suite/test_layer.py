"""Hidden tests of `EncoderLayer`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.encoder.suite.scenarios import grading
from grader.exercises.encoder_and_decoder.suite import looks
from grader.exercises.encoder_and_decoder.suite.kinds import ENCODER

NAME = ENCODER.layer


@pytest.mark.grade(category="parameters", points=2, title="EncoderLayer registers its parts, not copies")
def test_layer_parts(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "parts")


@pytest.mark.grade(category="parameters", points=1, title="EncoderLayer: one norm per sublayer")
def test_layer_norms(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "norms")


@pytest.mark.grade(category="numerics", points=4, title='EncoderLayer, norm="post": norm(x + f(x))')
def test_layer_post(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", only=looks.results)


@pytest.mark.grade(category="behaviour", points=1, title="EncoderLayer is post-norm by default")
def test_layer_default(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "default", only=looks.results)


@pytest.mark.grade(category="numerics", points=4, title='EncoderLayer, norm="pre": x + f(norm(x))')
def test_layer_pre(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "pre", only=looks.results)


@pytest.mark.grade(category="behaviour", points=1, title="EncoderLayer calls each part once")
def test_layer_calls(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", "pre", only=looks.calls)


@pytest.mark.grade(category="masking", points=3, title="EncoderLayer passes the mask to attention")
def test_layer_masks(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", "pre", "masks", only=looks.masks)


@pytest.mark.grade(category="numerics", points=1, title="EncoderLayer: almost constant rows")
def test_layer_eps(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "eps", only=looks.values)


@pytest.mark.grade(category="behaviour", points=1, title="EncoderLayer preserves dtype and input")
def test_layer_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", "pre", "default", "masks", "eps", "dtypes")


@pytest.mark.grade(category="behaviour", points=1, title="EncoderLayer: no dropout in eval mode")
def test_layer_eval(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "eval")


@pytest.mark.grade(category="behaviour", points=2, title="EncoderLayer: dropout on sublayer outputs")
def test_layer_train(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "train")


@pytest.mark.grade(category="gradients", points=2, title="EncoderLayer: gradients")
def test_layer_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "gradients")


@pytest.mark.grade(category="behaviour", points=1, title="EncoderLayer: arguments by name or position")
def test_layer_keywords(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "keywords")


@pytest.mark.grade(category="behaviour", points=1, title="EncoderLayer works on its input's device")
def test_layer_devices(component: Submission, seed: int) -> None:
    for group in ("masks", "train"):
        grading(component, seed).check_devices(NAME, group)
