"""Hidden tests of `DecoderLayer`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.decoder.suite.scenarios import grading, memory
from grader.exercises.encoder_and_decoder.suite import looks
from grader.exercises.encoder_and_decoder.suite.kinds import DECODER

NAME = DECODER.layer


@pytest.mark.grade(category="parameters", points=2, title="DecoderLayer registers its parts, not copies")
def test_layer_parts(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "parts")


@pytest.mark.grade(category="parameters", points=1, title="DecoderLayer: one norm per sublayer")
def test_layer_norms(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "norms")


@pytest.mark.grade(category="numerics", points=3, title="DecoderLayer: keys and values from memory")
def test_layer_memory(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", "pre", "memory", only=memory)


@pytest.mark.grade(category="numerics", points=4, title='DecoderLayer, norm="post": norm(x + f(x))')
def test_layer_post(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", only=looks.results)


@pytest.mark.grade(category="behaviour", points=1, title="DecoderLayer is post-norm by default")
def test_layer_default(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "default", only=looks.results)


@pytest.mark.grade(category="numerics", points=4, title='DecoderLayer, norm="pre": x + f(norm(x))')
def test_layer_pre(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "pre", only=looks.results)


@pytest.mark.grade(category="behaviour", points=1, title="DecoderLayer calls each part once")
def test_layer_calls(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", "pre", only=looks.calls)


@pytest.mark.grade(category="masking", points=3, title="DecoderLayer: the mask of each attention")
def test_layer_masks(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", "pre", "memory", "masks", only=looks.masks)


@pytest.mark.grade(category="numerics", points=1, title="DecoderLayer: almost constant rows")
def test_layer_eps(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "eps", only=looks.values)


@pytest.mark.grade(category="behaviour", points=1, title="DecoderLayer preserves dtype and input")
def test_layer_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", "pre", "default", "memory", "masks", "eps", "dtypes")


@pytest.mark.grade(category="behaviour", points=1, title="DecoderLayer: no dropout in eval mode")
def test_layer_eval(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "eval")


@pytest.mark.grade(category="behaviour", points=2, title="DecoderLayer: dropout on sublayer outputs")
def test_layer_train(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "train")


@pytest.mark.grade(category="gradients", points=2, title="DecoderLayer: gradients")
def test_layer_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "gradients")


@pytest.mark.grade(category="behaviour", points=1, title="DecoderLayer: arguments by name or position")
def test_layer_keywords(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "keywords")


@pytest.mark.grade(category="behaviour", points=1, title="DecoderLayer works on its input's device")
def test_layer_devices(component: Submission, seed: int) -> None:
    for group in ("masks", "train"):
        grading(component, seed).check_devices(NAME, group)
