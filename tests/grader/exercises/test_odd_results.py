"""Whatever a submission gives back, a scenario says what that is: nothing is an internal error of the grader.

Nor is what it does to the notes of the parts that it was given.
"""

from __future__ import annotations

import importlib

import pytest
import torch

from grader.catalog import get_exercise, get_exercises
from grader.engine.grading import Grading
from grader.engine.local import LocalSubmission
from grader.engine.subject import UNFIT
from grader.worker.parts.base import Part
from tests import solution_file

ODD = {
    "a number": "x.sum()",
    "one dimension": "x.flatten()",
    "the first alone": "x[0]",
    "one dimension more": "x[None]",
    "one column": "x[..., :1]",
    "no row": "x[:0]",
    "transposed": "x.transpose(0, -1)",
    "nothing": "None",
    "a text": "'odd'",
    "several": "(x, x, x)",
    "whole numbers": "x.long()",
    "complex": "x.to(torch.complex64)",
    "not finite": "x / 0",
    "truth values": "x > 0",
    "no feature": "x[..., :0]",
    "half precision": "x.half()",
}
STILL_RIGHT = {("decoding", "whole numbers"), ("training", "whole numbers")}  # ids are such
BY_HAND = """

import torch


def _odd(x):
    if isinstance(x, tuple):
        return type(x)(_odd(one) for one in x) if type(x) is tuple else _odd(tuple(x))
    return {odd} if isinstance(x, torch.Tensor) else x


def _giving_odd(function):
    return lambda *args, **kwargs: _odd(function(*args, **kwargs))


for _name in {components!r}:
    if isinstance(globals()[_name], type):
        globals()[_name].forward = _giving_odd(globals()[_name].forward)
    else:
        globals()[_name] = _giving_odd(globals()[_name])
"""
EVERY = 5  # all but every so many are slow
CASES = [
    pytest.param(
        exercise, odd, marks=[] if (i + j) % EVERY == 0 else [pytest.mark.slow], id=f"{exercise}-{odd}"
    )
    for i, exercise in enumerate(get_exercises())
    for j, odd in enumerate(ODD)
]


def unfit(grading: Grading) -> list[str]:
    """Scenarios that raised an error of their own."""
    errors = {one.title: grading.got(one).error for one in grading.scenarios}
    return [title for title, error in errors.items() if error is not None and UNFIT in error.message]


@pytest.mark.parametrize(("exercise", "odd"), CASES)
@pytest.mark.sampled(4)
def test_odd_results_are_answers(exercise: str, odd: str) -> None:
    entry = get_exercise(exercise)
    text = solution_file(exercise).read_text(encoding="utf-8")
    text += BY_HAND.format(odd=ODD[odd], components=entry.components)
    subject = importlib.import_module(f"{entry.package}.suite.scenarios").SUBJECT
    grading = Grading(LocalSubmission.from_source(text, filename=f"{exercise}.py"), subject, 3)
    right = [grading.is_right(scenario) for scenario in grading.scenarios]
    assert not unfit(grading)
    assert not all(right) or (exercise, odd) in STILL_RIGHT


NAMES = (
    "x",
    "query",
    "key",
    "value",
    "mask",
    "memory",
    "src_mask",
    "src",
    "tgt",
    "training",
    "recording",
    "made",
)
NOTES = {
    "nothing": None,
    "a number": 5,
    "no dict": [torch.zeros(2)],
    "other names": [{"nonsense": torch.zeros(3)}],
    "a text": [dict.fromkeys(NAMES, "odd")],
    "a number each": [dict.fromkeys(NAMES, torch.tensor(2))],
    "a row each": [dict.fromkeys(NAMES, torch.zeros(3))],
    "three dimensions each": [dict.fromkeys(NAMES, torch.ones(2, 3, 4))] * 2,
    "whole numbers": [dict.fromkeys(NAMES, torch.zeros(2, 5, 8, dtype=torch.int64))],
    "complex": [dict.fromkeys(NAMES, torch.zeros(2, 5, 8, dtype=torch.complex64))],
    "empty": [dict.fromkeys(NAMES, torch.zeros(0, 0))],
}


@pytest.mark.parametrize(
    "exercise", ["norm", "encoder", "decoder", "transformer", "decoding", "training", "kv_cache"]
)
@pytest.mark.sampled(7)
def test_odd_notes_are_no_error_of_the_grader(exercise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = get_exercise(exercise)
    subject = importlib.import_module(f"{entry.package}.suite.scenarios").SUBJECT
    for odd in NOTES.values():
        submission = LocalSubmission.from_source(
            solution_file(exercise).read_text("utf-8"), filename="odd.py"
        )
        grading = Grading(submission, subject, 3)
        with monkeypatch.context() as patch:
            patch.setattr(Part, "recorded", lambda _part, odd=odd: odd)
            for scenario in grading.scenarios:
                grading.is_right(scenario)
            assert not unfit(grading)
