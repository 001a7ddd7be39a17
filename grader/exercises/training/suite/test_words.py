"""Hidden tests of `reverse_words`: each looks at its share of the scenarios."""

from __future__ import annotations

import pytest

from grader.api import Submission
from grader.exercises.training.suite.scenarios import WORDS, content, form, grading


@pytest.mark.grade(category="shape", points=1, title="reverse_words: two int64 tensors")
def test_words_form(component: Submission, seed: int) -> None:
    grading(component, seed).check(WORDS, only=form)


@pytest.mark.grade(category="behaviour", points=2, title="reverse_words: letters reversed, then EOS")
def test_words_plain(component: Submission, seed: int) -> None:
    grading(component, seed).check(WORDS, "plain", only=content)


@pytest.mark.grade(category="masking", points=1, title="reverse_words: PAD after short words")
def test_words_padded(component: Submission, seed: int) -> None:
    grading(component, seed).check(WORDS, "padded", only=content)
