"""A question about the learner's own right code with one thing changed. The answer is computed: the file is graded."""

from __future__ import annotations

import random
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grader.catalog import CATEGORIES
from grader.mutants.mutants import Mutant, mutants
from zoo.core.errors import ZooError
from zoo.core.lines import split_lines

if TYPE_CHECKING:
    from grader.core.results import Grade
    from grader.run.run import Request

TRAINING = frozenset({"training"})
WITHOUT_TRAINING = frozenset(CATEGORIES) - TRAINING
MOST_TRIED = 12  # changes, until one fails a test and passes another
WRONG_OPTIONS = 3

Grades = Callable[["Request"], "Grade"]


@dataclass(frozen=True)
class Question:
    """A question with its answer.

    Attributes:
        line: of the change, from 1.
        old, new: the lines before and after it.
        text: the question.
        options: what can be answered.
        answer: index of the right option.
        grade: of the changed file.
    """

    line: int
    old: tuple[str, ...]
    new: tuple[str, ...]
    text: str
    options: tuple[str, ...]
    answer: int
    grade: Grade


def check_right(request: Request, grade: Grades) -> None:
    """Raise ZooError if the file fails a test, for then nobody knows what a change does."""
    result = grade(replace(request, categories=WITHOUT_TRAINING))
    if not result.passed:
        raise ZooError(
            f"'{request.file}' does not pass all tests yet, and the quiz is about correct code. "
            f"`zoo grade {shlex.quote(request.file)}` shows what fails."
        )


def question(request: Request, grade: Grades, *, about_training: bool = False) -> Question:
    """Change one thing in the file, grade it, and ask for the outcome.

    Args:
        request: the file, which passes all tests; its seed decides what is changed.
        grade: grades a file.
        about_training: ask whether a model still learns with it, not which test fails.

    Raises:
        ZooError: there is no change to ask about.
    """
    text = request.text
    draws = random.Random(request.seed)
    try:
        found = mutants(text)
    except RecursionError as error:
        raise ZooError(
            f"An expression in '{request.file}' is nested too deeply to change a part of it."
        ) from error
    draws.shuffle(found)
    raises: Question | None = None  # the first change that only ends the code: there is little to guess
    for mutant in found[:MOST_TRIED]:
        categories = TRAINING if about_training else WITHOUT_TRAINING
        result = grade(replace(request, source=mutant.text.encode(), categories=categories))
        asked = _training(result) if about_training else _first_failure(result, draws)
        if about_training and not result.results:
            raise ZooError(
                f"The exercise '{request.exercise.name}' has no training test. Leave out --training."
            )
        if asked is not None:
            what, options, answer = asked
            made = Question(*_change(text, mutant), what, tuple(options), answer, result)
            if about_training or not _raises(result):
                return made
            raises = raises or made
    if raises is not None:
        return raises
    raise ZooError(f"No change of '{request.file}' was found to ask about. Try another --seed.")


def _first_failure(grade: Grade, draws: random.Random) -> tuple[str, Sequence[str], int] | None:
    failed = [one.title for one in grade.results if one.status == "failed"]
    passed = [one.title for one in grade.results if one.status == "passed"]
    if not failed or not passed:
        return None
    options = [failed[0], *draws.sample(passed, min(WRONG_OPTIONS, len(passed)))]
    draws.shuffle(options)
    return "Which of these tests fails now?", options, options.index(failed[0])


def _raises(grade: Grade) -> bool:
    """Return whether the code ends in an error, not in wrong results."""
    first = next(one for one in grade.results if one.status == "failed")
    return first.where is not None and first.where.why == "error"


def _training(grade: Grade) -> tuple[str, Sequence[str], int] | None:
    found = [
        one for one in grade.results if one.category == "training" and one.status in ("passed", "failed")
    ]
    if not found:
        return None
    options = ("Yes, it reverses words it has never seen.", "No, it fails.")
    answer = int(any(one.status == "failed" for one in found))
    return "A model is trained with this change. Does it still learn to reverse words?", options, answer


def _change(text: str, mutant: Mutant) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """The first changed line, and the changed lines before and after."""
    old, new = split_lines(text), split_lines(mutant.text)
    start = next(i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    left = next(i for i, (a, b) in enumerate(zip(reversed(old), reversed(new), strict=False)) if a != b)
    return (
        start + 1,
        tuple(old[start : max(len(old) - left, start)]),
        tuple(new[start : max(len(new) - left, start)]),
    )
