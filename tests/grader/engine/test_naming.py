"""The search for the mistakes behind failures: it has a budget of its own, and takes nothing from other parts."""

from __future__ import annotations

import pytest

from grader.author.matrix import WITHOUT_TRAINING
from grader.author.proofs import solution_text
from grader.catalog import get_exercise
from grader.core.results import Result
from grader.engine.local import LocalSubmission
from grader.run.session import Session

# Half the frequencies, which is no known mistake, beside a class that is right.
POSITIONS = """
import math, torch
from torch import nn

class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        rates = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model)) / 2
        angles = torch.arange(max_len)[:, None] * rates
        table = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :d_model]
        self.register_buffer("table", table)

    def forward(self, x):
        if x.size(1) > len(self.table):
            raise ValueError("too long")
        return x + self.table[: x.size(1)].to(x.dtype)

class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.table = nn.Parameter(torch.randn(max_len, d_model))

    def forward(self, x):
        if x.size(1) > len(self.table):
            raise ValueError("too long")
        return x + self.table[: x.size(1)]
"""


def graded(exercise: str, text: str, naming_budget_s: float) -> list[Result]:
    wanted = get_exercise(exercise)

    def opened() -> LocalSubmission:
        return LocalSubmission.from_source(text, filename=wanted.file)

    return Session(wanted, opened, seed=3, naming_budget_s=naming_budget_s).run(WITHOUT_TRAINING)


@pytest.mark.parametrize("budget", [0.0, 120.0])
def test_a_right_class_beside_one_that_nobody_can_name_passes(budget: float) -> None:
    results = graded("positions", POSITIONS, budget)
    learned = [one.status for one in results if "learned" in one.name]
    assert learned == ["passed"] * len(learned) != []
    wrong = [one for one in results if one.status == "failed"]
    assert [one.name for one in wrong] == ["classes.test_sinusoidal_numbers"]
    assert wrong[0].mistakes == ()
    assert not [one.message for one in results if "not run" in one.message]


KNOWN = {"attention": ("/ math.sqrt(query.size(-1))", ""), "norm": ("variance + self.eps", "variance")}


@pytest.mark.parametrize("exercise", KNOWN)
def test_a_known_mistake_is_named_without_time_for_pairs(exercise: str) -> None:
    text = solution_text(get_exercise(exercise))
    assert KNOWN[exercise][0] in text
    results = graded(exercise, text.replace(*KNOWN[exercise]), 0.0)
    assert [m.id for one in results for m in one.mistakes] != []


# Overflows for large logits and ignores `smoothing`. Alone, the latter explains the finite results.
LOSS = """
import torch

def sequence_loss(logits, target, pad=0, smoothing=0.0):
    p = torch.exp(logits) / torch.exp(logits).sum(-1, keepdim=True)
    right = p.gather(-1, target.unsqueeze(-1)).squeeze(-1)
    return -torch.log(right)[target != pad].mean()
"""


def test_two_mistakes_that_explain_all_come_before_one_that_explains_finite_results() -> None:
    text = LOSS + solution_text(get_exercise("loss")).partition("def sequence_loss")[0]
    named = {m.id for one in graded("loss", text, 120.0) for m in one.mistakes}
    assert named == {"logarithm-overflows", "smoothing-ignored"}


def test_arguments_have_their_names_in_a_report() -> None:
    text = solution_text(get_exercise("feedforward"))
    assert "self.up(x)" in text
    results = graded("feedforward", text.replace("self.up(x)", "self.up(x.detach())"), 0.0)
    (failed,) = (one for one in results if one.status == "failed")
    assert "the gradient: gradient of x[" in failed.message
