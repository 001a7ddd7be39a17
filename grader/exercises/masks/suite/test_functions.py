"""Hidden tests of `padding_mask`, `causal_mask`, `decoder_mask` and `to_additive`: each looks at its scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.masks.suite.scenarios import ADDITIVE, CAUSAL, DECODER, PADDING, grading

CHANGED = "changed in place"


def form(name: str) -> bool:
    return name in ("shape", "dtype", "result")


def content(name: str) -> bool:
    return name not in ("shape", "dtype", CHANGED)


@pytest.mark.grade(category="shape", points=1, title="padding_mask: bool [B, 1, 1, T]")
def test_padding_form(component: Submission, seed: int) -> None:
    grading(component, seed).check(PADDING, "plain", only=form)


@pytest.mark.grade(category="masking", points=2, title="padding_mask: True where there is a token")
def test_padding(component: Submission, seed: int) -> None:
    grading(component, seed).check(PADDING, "plain", only=content)


@pytest.mark.grade(category="masking", points=1, title="padding_mask: PAD anywhere")
def test_padding_anywhere(component: Submission, seed: int) -> None:
    grading(component, seed).check(PADDING, "anywhere", only=lambda name: name != CHANGED)


@pytest.mark.grade(category="masking", points=1, title="padding_mask: another id for PAD")
def test_padding_pad(component: Submission, seed: int) -> None:
    grading(component, seed).check(PADDING, "pad", only=lambda name: name != CHANGED)


@pytest.mark.grade(category="shape", points=1, title="causal_mask: bool [1, 1, T, T]")
def test_causal_form(component: Submission, seed: int) -> None:
    grading(component, seed).check(CAUSAL, "plain", only=form)


@pytest.mark.grade(category="masking", points=2, title="causal_mask: past and current positions")
def test_causal(component: Submission, seed: int) -> None:
    grading(component, seed).check(CAUSAL, "plain", only=content)


@pytest.mark.grade(category="behaviour", points=1, title="causal_mask: on the requested device")
def test_causal_device(component: Submission, seed: int) -> None:
    grading(component, seed).check(CAUSAL, "device")


@pytest.mark.grade(category="shape", points=1, title="decoder_mask: bool [B, 1, T, T]")
def test_decoder_form(component: Submission, seed: int) -> None:
    grading(component, seed).check(DECODER, "plain", only=form)


@pytest.mark.grade(category="masking", points=3, title="decoder_mask: causal AND padding")
def test_decoder(component: Submission, seed: int) -> None:
    grading(component, seed).check(DECODER, "plain", only=content)


@pytest.mark.grade(category="masking", points=1, title="decoder_mask: PAD anywhere")
def test_decoder_anywhere(component: Submission, seed: int) -> None:
    grading(component, seed).check(DECODER, "anywhere", only=lambda name: name != CHANGED)


@pytest.mark.grade(category="masking", points=1, title="decoder_mask: another id for PAD")
def test_decoder_pad(component: Submission, seed: int) -> None:
    grading(component, seed).check(DECODER, "pad", only=lambda name: name != CHANGED)


@pytest.mark.grade(category="numerics", points=2, title="to_additive: 0 and -inf, same shape")
def test_additive(component: Submission, seed: int) -> None:
    grading(component, seed).check(ADDITIVE, "plain", only=lambda name: name != CHANGED)


@pytest.mark.grade(category="behaviour", points=1, title="to_additive: in the requested dtype")
def test_additive_dtype(component: Submission, seed: int) -> None:
    grading(component, seed).check(ADDITIVE, "dtype", only=lambda name: name != CHANGED)


@pytest.mark.grade(category="behaviour", points=1, title="arguments are not modified")
def test_arguments_left_alone(component: Submission, seed: int) -> None:
    for name in (PADDING, DECODER, ADDITIVE):
        grading(component, seed).check(name, only=lambda value: value == CHANGED)


@pytest.mark.grade(category="behaviour", points=1, title="decoder_mask: on its tokens' device")
def test_devices(component: Submission, seed: int) -> None:
    grading(component, seed).check_devices("decoder_mask")
