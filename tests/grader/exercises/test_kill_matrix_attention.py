"""The hidden suite, tested: every known mistake is killed and named, and nothing right is failed."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest
from _pytest.mark import ParameterSet

from grader.catalog import get_exercise
from grader.core.results import Result
from grader.core.submission import Submission
from grader.engine.local import LocalSubmission
from grader.engine.mistakes import Mistake
from grader.exercises.attention.mistakes import MISTAKES
from grader.exercises.attention.reference import REFERENCE, Steps, namespace, with_mistake
from grader.run.session import Session
from tests.grader.right import right_files
from tests.grader.wrong.attention import RIGHT, WRONG

WITHOUT_TRAINING = ("shape", "masking", "numerics", "gradients", "parameters", "behaviour")
RIGHT_FILES = right_files("attention")
KNOWN = {mistake.id: mistake for mistake in MISTAKES}


QUICK = {
    "missing-scale",
    "softmax-over-queries",
    "mask-inverted",
    "mask-axis-misplaced",
    "fully-masked-gradient-nan",
}


def sparsely(names: Iterable[str], every: int, always: Collection[str] = ()) -> list[ParameterSet]:
    """One parameter a name; all but every so many, and those that are always wanted, are slow."""
    return [
        pytest.param(name, id=name, marks=[] if i % every == 0 or name in always else [pytest.mark.slow])
        for i, name in enumerate(names)
    ]


def graded(submission: Submission, seed: int = 3) -> list[Result]:
    return Session(get_exercise("attention"), lambda: submission, seed=seed).run(WITHOUT_TRAINING)


def failures(results: list[Result]) -> dict[str, set[str]]:
    """Ids of the mistakes named, by failed test."""
    assert not [(r.name, r.message) for r in results if r.status == "error"]
    return {r.name: {m.id for m in r.mistakes} for r in results if r.status == "failed"}


def patched(mistake: Mistake[Steps], variant: int = 0) -> LocalSubmission:
    """A file with this mistake in the parts that it can be made in."""
    steps = mistake.variants(REFERENCE)[variant]
    return LocalSubmission(with_mistake(steps, mistake.parts))


def test_reference_gets_all_points() -> None:
    results = graded(LocalSubmission(namespace(REFERENCE)))
    assert [r.message for r in results if r.status != "passed"] == []
    assert sum(r.points for r in results) == 42


@pytest.mark.parametrize("name", sparsely(KNOWN, 3, QUICK))
def test_mistake_is_killed_and_named(name: str) -> None:
    found = failures(graded(patched(KNOWN[name])))
    assert list(found.values()) == [{name}], "one mistake gives one failure, and its own name"


@pytest.mark.parametrize("name", sparsely(WRONG, 3, ("mask_askew", "heads_divided")))
def test_wrong_file_is_named(name: str) -> None:
    allowed = WRONG[name][0]
    found = failures(graded(LocalSubmission.from_source(WRONG[name][1]), seed=5))
    named = set().union(*found.values())
    assert named
    assert named <= allowed
    assert len(found) == 1 or len(named) > 1, "one name is reported once"


def test_a_mistake_that_fits_in_part_only_is_said_with_care() -> None:
    source = RIGHT.replace(" / math.sqrt(d_k)", " / (1.0 if mask is None else 0.9)")
    results = graded(LocalSubmission.from_source(source), seed=5)
    named = [m for result in results if result.status == "failed" for m in result.mistakes]
    assert [m.id for m in named] == ["missing-scale"]
    assert named[0].text.startswith("It looks like this, but not in all cases: ")


@pytest.mark.parametrize("name", sparsely(RIGHT_FILES, 3))
def test_right_file_passes(name: str) -> None:
    for seed in (0, 1):
        assert failures(graded(LocalSubmission.from_source(RIGHT_FILES[name]), seed)) == {}


@pytest.mark.slow
def test_no_seed_fails_right_code() -> None:
    for name in ("reference", "packed_qkv", "packed_vkq_with_bias", "packed_per_head"):
        for seed in range(100):
            submission = LocalSubmission(namespace(REFERENCE))
            if name in RIGHT_FILES:
                submission = LocalSubmission.from_source(RIGHT_FILES[name])
            assert failures(graded(submission, seed)) == {}, f"{name}, seed {seed}"


def test_titles_fit_one_line_of_the_report() -> None:
    assert [r.title for r in graded(LocalSubmission(namespace(REFERENCE))) if len(r.title) > 44] == []


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.id)
def test_mistake_says_what_and_what_next(mistake: Mistake[Steps]) -> None:
    named = mistake.named
    assert named.text.endswith((".", ")"))
    assert len(named.text) > 30
    assert named.hint
