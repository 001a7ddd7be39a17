"""Gradients are those of the output also where something is dropped, and also where no input needs one."""

from __future__ import annotations

import pytest

from grader.engine.local import LocalSubmission
from tests.grader.grades import graded

FILE = '''
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.up, self.down, self.rate = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), dropout
        self.own = torch.Generator().manual_seed(1)

    def drop(self, x, generator=None):
        """By hand, and into `x`."""
        kept = torch.rand(x.shape, generator=generator) >= self.rate
        return x * kept / (1 - self.rate)

    def inner(self, x):
        hidden = self.up(x).relu()
        if self.training and self.rate:
            DROP
        return self.down(hidden)

    def forward(self, x):
        return CALL
'''
AGAIN = "checkpoint(self.inner, x, use_reentrant=False, preserve_rng_state={}) if self.training else self.inner(x)"
RIGHT = {
    "by hand": ("hidden = self.drop(hidden)", "self.inner(x)"),
    "a generator of its own": ("hidden = self.drop(hidden, self.own)", "self.inner(x)"),
    "computed again in the backward pass": ("hidden = self.drop(hidden)", AGAIN.format(True)),
}
WRONG = {
    "dropped in place after a ReLU in place, which the backward pass refuses": (
        "hidden = nn.functional.dropout(hidden.relu_(), self.rate, True, True)",
        "self.inner(x)",
    ),
    "no gradient of what is dropped": (
        "hidden = hidden + (self.drop(hidden) - hidden).detach()",
        "self.inner(x)",
    ),
    "written past the gradient": (
        "hidden = hidden + 0; hidden.data.copy_(self.drop(hidden))",
        "self.inner(x)",
    ),
    "others dropped in the backward pass": ("hidden = self.drop(hidden)", AGAIN.format(False)),
    "no gradient without that of an input": (
        "hidden = self.drop(hidden)",
        "checkpoint(self.inner, x, use_reentrant=True) if self.training else self.inner(x)",
    ),
}


def failed(drop: str, call: str) -> list[str]:
    submission = LocalSubmission.from_source(FILE.replace("DROP", drop).replace("CALL", call))
    return [one.name for one in graded("feedforward", submission, pairs=False) if one.status == "failed"]


@pytest.mark.parametrize("way", RIGHT)
def test_right_ones_pass(way: str) -> None:
    assert failed(*RIGHT[way]) == []


@pytest.mark.parametrize("way", WRONG)
def test_wrong_ones_are_seen(way: str) -> None:
    assert failed(*WRONG[way]) == ["class.test_gradients"]
