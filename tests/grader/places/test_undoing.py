"""What a change has to make right before it counts as a proof."""

from __future__ import annotations

import importlib
import math

import pytest

from grader.catalog import get_exercise
from grader.engine.grading import grading_of
from grader.engine.local import LocalSubmission
from grader.engine.scenario import scenarios_of
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
