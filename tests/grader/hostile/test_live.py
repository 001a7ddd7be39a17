"""Every file that is another one inside a live model, and its honest control, graded with all tests."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.catalog import CATEGORIES, get_exercise
from grader.core.results import Result
from grader.run.run import Request, grade_file
from grader.sandbox.sandbox import Sandbox
from tests.grader.hostile.live import LIVE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the levels are Linux's"),
]
SEEN = (
    "gave another output than",
    "gave other gradients to its inputs than",
    "returned another value than",
    "in a new process it returned another output",
    ": it returned another output",
)
NAMES = {"differs-in-training", "depends-on-earlier-calls", "depends-on-the-batch"}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """The best level that holds here: what these files do, no level forbids."""
    with pytest.MonkeyPatch.context() as patch, Sandbox() as shared:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("live")))
        yield shared


def graded(sandbox: Sandbox, exercise: str, text: str) -> tuple[list[Result], list[Result]]:
    """The results of training, and the others, as `zoo grade` gives them."""
    known = get_exercise(exercise)
    request = Request(known, known.file, text.encode(), "cpu", 5, frozenset(CATEGORIES), sandbox=sandbox)
    results = grade_file(request, lambda *_: None).results
    training = [one for one in results if one.category == "training"]
    return training, [one for one in results if one not in training]


@pytest.mark.parametrize("name", LIVE)
def test_it_is_right_in_all_tests_but_that_of_training_which_says_what_was_seen(
    sandbox: Sandbox, name: str
) -> None:
    one = LIVE[name]
    training, others = graded(sandbox, one.exercise, one.source)
    assert [result.message for result in others if result.status != "passed"] == []
    for result in training:
        assert result.status == "failed"
        assert any(words in result.message for words in SEEN), result.message
        assert {mistake.id for mistake in result.mistakes} <= NAMES
        assert result.mistakes
    assert training
    assert list(Path(tempfile.gettempdir()).glob("zoo-*")) == []


@pytest.mark.parametrize("name", ["backwards", "live-by-step", "live-not-again", "live-loss"])
def test_a_file_that_looks_at_the_same_and_is_right_passes(sandbox: Sandbox, name: str) -> None:
    training, others = graded(sandbox, LIVE[name].exercise, LIVE[name].control)
    assert [result.message for result in (*training, *others) if result.status != "passed"] == []
    assert training
