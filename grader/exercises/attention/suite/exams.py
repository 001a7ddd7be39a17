"""The attention exam of a submission, shared by all its tests."""

from __future__ import annotations

from grader.catalog import get_mistakes
from grader.core.submission import Submission
from grader.engine.exam import Exam, exam_of
from grader.exercises.attention.suite.class_cases import class_cases
from grader.exercises.attention.suite.function_cases import function_cases


def exam(component: Submission, seed: int) -> Exam:
    """The same exam for every test of one grade. The known mistakes are those of all plugins."""

    def make() -> Exam:
        return Exam(component, seed, function_cases, class_cases, get_mistakes("attention"))

    return exam_of(component, seed, make)
