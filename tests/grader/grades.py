"""Grades of code that runs in this process, without the training test."""

from __future__ import annotations

from contextlib import AbstractContextManager
from unittest import mock

from grader.author.matrix import WITHOUT_TRAINING
from grader.catalog import get_exercise, get_exercises
from grader.core.results import Result
from grader.core.submission import Submission
from grader.engine import grading, naming
from grader.engine.naming import Namer
from grader.run.session import Session
from tests.grader.right import right_files

SLOW = 20  # times as long: what is found must not depend on what else a processor does
RIGHT = [(name, title) for name in get_exercises() for title in right_files(name)]


def graded(exercise: str, submission: Submission, seed: int = 3, *, pairs: bool = True) -> list[Result]:
    """`pairs`: also look for two mistakes at once, which takes seconds where there are none."""
    budget = {} if pairs else {"naming_budget_s": 0.0}
    session = Session(get_exercise(exercise), lambda: submission, seed=seed, **budget)
    with (
        mock.patch.object(naming, "NEAR_S", SLOW * naming.NEAR_S),
        mock.patch.object(grading, "PAIRS_S", SLOW * grading.PAIRS_S),
    ):
        return session.run(WITHOUT_TRAINING)


def without_names() -> AbstractContextManager[object]:
    """Grades in it compare no wrong answer with those of known mistakes: enough to see that something fails."""
    return mock.patch.multiple(Namer, alone=lambda self: [], several=lambda self, seconds: [])


def failures(results: list[Result]) -> dict[str, set[str]]:
    """Ids of the mistakes named, by failed test."""
    assert not [(r.name, r.message) for r in results if r.status == "error"]
    return {r.name: {m.id for m in r.mistakes} for r in results if r.status == "failed"}
