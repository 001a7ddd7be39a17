"""The attention exam of a submission, shared by all its tests."""

from __future__ import annotations

from grader.judge.component import Submission
from grader.judge.exam import Exam, exam_of
from grader.mistakes.attention import MISTAKES
from grader.suites.attention.class_cases import class_cases
from grader.suites.attention.function_cases import function_cases


def exam(component: Submission, seed: int) -> Exam:
    """The same exam for every test of one grade."""
    return exam_of(component, seed, lambda: Exam(component, seed, function_cases, class_cases, MISTAKES))
