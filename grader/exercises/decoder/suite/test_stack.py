"""Hidden tests of `Decoder`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.decoder.suite.scenarios import grading, memory
from grader.exercises.encoder_and_decoder.suite import looks
from grader.exercises.encoder_and_decoder.suite.kinds import DECODER

NAME = DECODER.stack


@pytest.mark.grade(category="parameters", points=2, title="Decoder registers its layers, not copies")
def test_stack_parts(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "parts")


@pytest.mark.grade(category="numerics", points=2, title="Decoder passes memory to every layer")
def test_stack_memory(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", "pre", "memory", only=memory)


@pytest.mark.grade(category="behaviour", points=2, title="Decoder makes and calls each layer once")
def test_stack_calls(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", "pre", only=looks.calls)


@pytest.mark.grade(category="numerics", points=2, title='Decoder, norm="post": all layers in order')
def test_stack_post(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", only=looks.results)


@pytest.mark.grade(category="numerics", points=2, title='Decoder, norm="pre": ends with a norm')
def test_stack_pre(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "pre", only=looks.results)


@pytest.mark.grade(category="parameters", points=1, title="Decoder: norms start with gain 1, bias 0")
def test_stack_norms(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "norms")


@pytest.mark.grade(category="behaviour", points=1, title="Decoder is post-norm by default")
def test_stack_default(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "default", only=looks.results)


@pytest.mark.grade(category="masking", points=2, title="Decoder passes both masks to every layer")
def test_stack_masks(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", "pre", "memory", "masks", only=looks.masks)


@pytest.mark.grade(category="numerics", points=1, title="Decoder: almost constant rows")
def test_stack_eps(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "eps", only=looks.values)


@pytest.mark.grade(category="behaviour", points=1, title="Decoder preserves dtype and input")
def test_stack_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "post", "pre", "default", "memory", "masks", "eps", "dtypes")


@pytest.mark.grade(category="gradients", points=2, title="Decoder: gradients")
def test_stack_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "gradients")


@pytest.mark.grade(category="behaviour", points=1, title="Decoder: same result in train mode")
def test_stack_train(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "train")


@pytest.mark.grade(category="behaviour", points=1, title="Decoder: arguments by name or position")
def test_stack_keywords(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "keywords")


@pytest.mark.grade(category="behaviour", points=1, title="Decoder works on the device of its input")
def test_stack_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices(NAME, "masks")
