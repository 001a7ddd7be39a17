"""The hidden suite, tested: every known mistake is killed and named, and nothing right is failed."""

from __future__ import annotations

import pytest
from attention_right import right_files
from attention_sources import RIGHT, WRONG, edited

from grader.exercise import get_exercise
from grader.judge.component import Submission
from grader.judge.local import LocalSubmission
from grader.judge.results import Result
from grader.judge.session import Session
from grader.mistakes import Mistake
from grader.mistakes.attention import MISTAKES
from grader.reference.attention import REFERENCE, Steps, namespace

WITHOUT_TRAINING = ("shape", "masking", "numerics", "gradients", "parameters", "behaviour")
RIGHT_FILES = right_files()


def graded(submission: Submission, seed: int = 3) -> list[Result]:
    return Session(get_exercise("attention"), lambda: submission, seed=seed).run(WITHOUT_TRAINING)


def failures(results: list[Result]) -> dict[str, set[str]]:
    """Ids of the mistakes named, by failed test."""
    assert not [(r.name, r.message) for r in results if r.status == "error"]
    return {r.name: {m.id for m in r.mistakes} for r in results if r.status == "failed"}


def patched(mistake: Mistake[Steps], variant: int = 0) -> LocalSubmission:
    """A file with this mistake in the parts that it can be made in."""
    steps = mistake.variants(REFERENCE)[variant]
    function = steps if "function" in mistake.parts else REFERENCE
    return LocalSubmission(namespace(steps if "class" in mistake.parts else REFERENCE, function))


def test_reference_gets_all_points() -> None:
    results = graded(LocalSubmission(namespace(REFERENCE)))
    assert [r.message for r in results if r.status != "passed"] == []
    assert sum(r.points for r in results) == 40


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.id)
def test_mistake_is_killed_and_named(mistake: Mistake[Steps]) -> None:
    found = failures(graded(patched(mistake)))
    assert list(found.values()) == [{mistake.id}], "one mistake gives one failure, and its own name"


@pytest.mark.parametrize("name", WRONG)
def test_wrong_file_is_named(name: str) -> None:
    allowed = WRONG[name][0]
    found = failures(graded(LocalSubmission.from_source(edited(name)), seed=5))
    named = set().union(*found.values())
    assert named
    assert named <= allowed


@pytest.mark.parametrize("name", RIGHT_FILES)
def test_right_file_passes(name: str) -> None:
    for seed in (0, 1):
        assert failures(graded(LocalSubmission.from_source(RIGHT_FILES[name]), seed)) == {}


@pytest.mark.slow
def test_no_seed_fails_right_code() -> None:
    for seed in range(100, 130):
        assert failures(graded(LocalSubmission.from_source(RIGHT), seed)) == {}, f"seed {seed}"


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.id)
def test_mistake_says_what_and_what_next(mistake: Mistake[Steps]) -> None:
    named = mistake.named
    assert named.text.endswith((".", ")"))
    assert len(named.text) > 30
    assert named.hint
