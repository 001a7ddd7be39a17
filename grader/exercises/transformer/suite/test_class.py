"""Hidden tests of `Transformer`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.transformer.suite.scenarios import NAME, grading

CHANGED = "changed in place"


def content(name: str) -> bool:
    return name != CHANGED


@pytest.mark.grade(category="parameters", points=1, title="registers its parts and one projection")
def test_parameters(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "parameters")


@pytest.mark.grade(category="numerics", points=3, title="encode: scale, add positions, encode")
def test_encode(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "encode", only=content)


@pytest.mark.grade(category="masking", points=2, title="encode: padding is masked")
def test_encoder_mask(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "encoder mask", only=content)


@pytest.mark.grade(category="numerics", points=3, title="decode: raw logits [B, L, V]")
def test_decode(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "decode", only=content)


@pytest.mark.grade(category="masking", points=3, title="decode: causal mask and padding mask")
def test_decoder_masks(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "decoder masks", only=content)


@pytest.mark.grade(category="masking", points=1, title="another id for PAD")
def test_pad(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "pad", only=content)


@pytest.mark.grade(category="numerics", points=2, title="forward: encode, then decode")
def test_forward(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "forward", only=content)


@pytest.mark.grade(category="gradients", points=1, title="the gradient reaches both embeddings")
def test_gradients(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "gradients")


@pytest.mark.grade(category="behaviour", points=2, title="decode keeps no state from encode")
def test_memory(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "memory", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="adds no dropout in train mode")
def test_train(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "train")


@pytest.mark.grade(category="behaviour", points=1, title="accepts keyword arguments")
def test_keywords(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "keywords", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="preserves float64 and bfloat16")
def test_dtypes(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, "dtypes", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="does not modify its arguments")
def test_arguments_left_alone(component: Submission, seed: int) -> None:
    grading(component, seed).check(NAME, only=lambda name: name == CHANGED)


@pytest.mark.grade(category="behaviour", points=1, title="creates tensors on its input's device")
def test_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices(NAME, "forward")
