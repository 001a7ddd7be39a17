"""A mutant that no test fails is compared with its base on more: other seeds, other sizes, other numbers."""

from __future__ import annotations

import random

import pytest
import torch

from tests import solution_file
from tests.mutation.equal import Compared, equal, varied
from tests.mutation.measure import subject_of, submission_of

MASK = "(tokens != pad)"
SHORT = "((tokens != pad) & (torch.arange(tokens.size(1)) < 60))"


def compared(exercise: str, old: str, new: str, enough: int = 60) -> tuple[str, int]:
    text = solution_file(exercise).read_text(encoding="utf-8")
    assert old in text
    submissions = [submission_of(exercise, one) for one in (text, text.replace(old, new))]
    both = Compared(submissions[0], submissions[1], subject_of(exercise), 0)
    return both.look(enough), both.count


@pytest.mark.parametrize(
    ("exercise", "old", "new"),
    [
        ("feedforward", "self.up(x).relu()", "self.up(x).clamp(min=0)"),
        ("feedforward", "nn.Linear(d_model, d_ff)", "nn.Linear(d_model, d_ff, True)"),
        ("loss", "dim=1)", "dim=-1)"),
        ("training", "torch.full_like(tgt[", "torch.full_like(src["),  # trains what it is given
        ("positions", "0.02 * torch.randn", "0.03 * torch.randn"),
        (
            "kv_cache",
            "self.v_proj = nn.Linear(d_model, d_model)",
            "self.v_proj = nn.Linear(d_model, d_model, False)",
        ),
    ],
)
def test_what_changes_nothing_is_equal(exercise: str, old: str, new: str) -> None:
    found, count = compared(exercise, old, new)
    assert found == ""
    assert count >= 60


@pytest.mark.parametrize(
    ("exercise", "old", "new", "said"),
    [
        ("masks", MASK, SHORT, "padding_mask"),
        ("feedforward", "self.up(x).relu()", "self.up(x).clamp(0, 20)", "FeedForward"),
        ("feedforward", "self.up(x).relu()", "self.up(x)", "seed 1: FeedForward"),
    ],
)
def test_what_changes_rare_inputs_is_not(exercise: str, old: str, new: str, said: str) -> None:
    found, _ = compared(exercise, old, new, 1000)
    assert said in found


def test_one_size_is_changed_everywhere() -> None:
    given = [[torch.zeros(2, 5, 3), torch.ones(5, 5, dtype=torch.bool), 5], {}]
    drawn = [next(iter(varied(given, random.Random(seed)))) for seed in range(40)]
    shapes = {(tuple(x.shape), tuple(mask.shape), number) for (x, mask, number), _ in drawn}
    assert ((2, 70, 3), (70, 70), 70) in shapes
    assert ((2, 5, 9), (5, 5), 5) in shapes


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        (torch.ones(2), torch.ones(2) + 1e-6, True),
        (torch.ones(2), torch.ones(2) + 1e-2, False),
        (torch.ones(2), torch.ones(2).double(), False),
        (torch.tensor(0.1), torch.tensor(0.1).double(), True),
        (torch.tensor(0.1), torch.tensor(0.2).double(), False),
        (torch.tensor([torch.nan, torch.inf]), torch.tensor([torch.nan, torch.inf]), True),
        ((torch.ones(1), [1]), (torch.ones(1), [1]), True),
        ((torch.ones(1), [1]), (torch.ones(1), [2]), False),
        (torch.tensor([[5, 2, 0, 0], [5, 6, 2, 0]]), torch.tensor([[5, 2, 0], [5, 6, 2]]), True),
        (torch.tensor([[5, 2, 0, 0], [5, 6, 2, 7]]), torch.tensor([[5, 2, 0], [5, 6, 2]]), False),
        ({"a": 0.5}, {"a": 0.5 + 1e-9}, True),
        ({"a": 0.5}, {"b": 0.5}, False),
    ],
)
def test_equal_up_to_rounding(a: object, b: object, found: bool) -> None:
    assert equal(a, b) is found
