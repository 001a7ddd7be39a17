"""What a change has to make right before it counts as a proof."""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence

import pytest

from grader.catalog import get_exercise
from grader.engine.grading import grading_of
from grader.engine.local import LocalSubmission
from grader.engine.scenario import Scenario, scenarios_of
from grader.engine.work_clock import SLOWEST
from grader.places.undoing import Searched, Undoing

TEXT = """\
import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.inner, self.outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        x = self.outer(self.dropout(torch.relu(self.inner(x))))
        return x
"""


@pytest.mark.parametrize(
    ("last", "fits"),
    [
        ("return x", True),
        ("return x + 0 * torch.rand_like(x)", True),
        ("return x * (torch.rand(1) < 0.8)", False),
    ],
)
def test_a_change_helps_whatever_random_numbers_are_drawn(last: str, fits: bool) -> None:
    subject = importlib.import_module(f"{get_exercise('feedforward').package}.suite.scenarios").SUBJECT
    submission = LocalSubmission.from_source(TEXT, filename="feedforward.py")
    grading = grading_of(submission, 0, subject)
    undoing = Undoing(submission, TEXT, grading, math.inf, Searched())
    asked = scenarios_of(grading.scenarios, "FeedForward")
    assert undoing.needs_no_luck(TEXT.replace("return x", last), asked) is fits


@pytest.mark.parametrize("seconds", [0.0, 9.0])
def test_copies_are_not_asked_what_takes_long_and_is_right(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = TEXT.replace("torch.relu", "torch.sigmoid")
    subject = importlib.import_module(f"{get_exercise('feedforward').package}.suite.scenarios").SUBJECT
    submission = LocalSubmission.from_source(text, filename="feedforward.py")
    answers = grading_of(submission, 0, subject)
    everything = scenarios_of(answers.scenarios, "FeedForward")
    wrong = [one for one in everything if not answers.is_right(one)]
    long = next(one for one in everything if one not in wrong)
    monkeypatch.setattr(answers, "seconds", lambda one: seconds if one is long else 0.0)
    undoing = Undoing(submission, text, answers, math.inf, Searched())
    asked: list[Scenario] = []
    are_right = undoing.are_right

    def noted(of: str, some: Sequence[Scenario]) -> bool:
        asked.extend(some)
        return are_right(of, some)

    monkeypatch.setattr(undoing, "are_right", noted)
    cures = undoing.search(wrong, [(12, TEXT)], [])
    assert [one.line for one in cures] == [12]
    assert (long in asked) is (seconds == 0.0)


def test_how_long_a_submission_takes_is_known() -> None:
    subject = importlib.import_module(f"{get_exercise('feedforward').package}.suite.scenarios").SUBJECT
    slow = TEXT.replace(
        "        x = self.outer", "        __import__('time').sleep(0.2)\n        x = self.outer"
    )
    answers = grading_of(LocalSubmission.from_source(slow, filename="feedforward.py"), 0, subject)
    first = answers.scenarios[0]
    assert answers.seconds(first) == 0.0
    answers.got(first)
    assert answers.seconds(first) >= 0.2 / SLOWEST


@pytest.mark.parametrize(
    ("old", "seconds", "times"),
    [("", 0.0, 1), ("", 0.5, 8), ("", 9.0, 10), ("return x", 0.0, 10)],
    ids=["at once", "half a second", "for long", "errors, which say nothing of how long it takes"],
)
def test_loops_of_a_copy_may_take_so_many_times_as_long(
    old: str, seconds: float, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = importlib.import_module(f"{get_exercise('feedforward').package}.suite.scenarios").SUBJECT
    text = TEXT.replace(old, "raise ValueError") if old else TEXT
    answers = grading_of(LocalSubmission.from_source(text, filename="feedforward.py"), 0, subject)
    asked = scenarios_of(answers.scenarios, "FeedForward")[:10]
    monkeypatch.setattr(answers, "seconds", lambda _one: seconds / 10)
    submission = LocalSubmission.from_source(text, filename="feedforward.py")
    undoing = Undoing(submission, text, answers, math.inf, Searched())
    assert undoing.times_to_loop(asked) == times
