"""What a grade leaves behind in a process that grades many files."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable

import pytest
import torch

from grader.core.submission import SubmissionError
from grader.engine.local import LocalSubmission
from grader.exercises.masks.reference import REFERENCE, namespace
from grader.exercises.masks.suite.scenarios import grading


def raises(*_arguments: object) -> torch.Tensor:
    raise ValueError("no mask here")


@pytest.mark.parametrize("causal", [None, lambda *_arguments, **_named: torch.ones(2, 2), raises])
def test_a_submission_is_gone_after_its_grade(causal: Callable[..., torch.Tensor] | None) -> None:
    code = dict(namespace(REFERENCE))
    submission = LocalSubmission({**code, "causal_mask": causal} if causal else code)
    found = grading(submission, 3)
    assert grading(submission, 3) is found  # the same one for every test
    for scenario in found.scenarios[:20]:
        try:
            found.got(scenario)
        except SubmissionError:
            continue
    gone = weakref.ref(submission)
    del submission, found
    gc.collect()
    assert gone() is None
