"""Weights are found by experiment in any order of all numbers; a wrong formula is not made right by that."""

from __future__ import annotations

import importlib

import pytest

from grader.catalog import get_exercise
from grader.engine.answers import Answers
from grader.engine.local import LocalSubmission
from tests.grader.grades import graded
from tests.grader.right import right_files

VECTOR = '''
import torch
from torch import nn
from torch.nn import functional as F


class Shuffled(nn.Module):
    """All numbers in one vector, in no order."""

    def __init__(self, shapes):
        super().__init__()
        self.shapes = {name: torch.Size(shape) for name, shape in shapes.items()}
        count = sum(shape.numel() for shape in self.shapes.values())
        self.order = torch.randperm(count, generator=torch.Generator().manual_seed(count))
        self.theta = nn.Parameter(torch.randn(count) * 0.3)

    def parts(self):
        parts = self.theta[self.order].split([shape.numel() for shape in self.shapes.values()])
        return {name: part.view(shape) for (name, shape), part in zip(self.shapes.items(), parts)}
'''
FEED_FORWARD = (
    VECTOR
    + """

class FeedForward(Shuffled):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__({"up": (d_ff, d_model), "b": (d_ff,), "down": (d_model, d_ff), "c": (d_model,)})
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        p = self.parts()
        return F.linear(self.drop(F.linear(x, p["up"], p["b"]).relu()), p["down"], p["c"])
"""
)
NORM = (
    VECTOR
    + """

class LayerNorm(Shuffled):
    def __init__(self, d_model, eps=1e-5):
        super().__init__({"gain": (d_model,), "shift": (d_model,)})
        self.eps = eps
        starts = torch.cat([torch.ones(d_model), torch.zeros(d_model)])
        self.theta.data[self.order] = starts

    def forward(self, x):
        p = self.parts()
        centred = x - x.mean(-1, keepdim=True)
        return p["gain"] * centred * (x.var(-1, keepdim=True, unbiased=False) + self.eps).rsqrt() + p["shift"]
"""
)
ATTENTION = (
    VECTOR
    + """

def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.mT / query.size(-1) ** 0.5
    if mask is not None:
        seen = mask if mask.dtype == torch.bool else mask == 0
        scores = scores.masked_fill(~seen, -1e9)
    weights = scores.softmax(-1)
    return weights @ value, weights


class MultiHeadAttention(Shuffled):
    def __init__(self, d_model, num_heads, dropout=0.0):
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model}, num_heads={num_heads}")
        square = (d_model, d_model)
        super().__init__({**dict.fromkeys("qkvo", square), **dict.fromkeys(["b" + one for one in BIASES], (d_model,))})
        self.heads, self.drop = num_heads, nn.Dropout(dropout)

    def project(self, p, name, x):
        y = F.linear(x, p[name], p.get("b" + name))
        return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        p = self.parts()
        q, k, v = self.project(p, "q", query), self.project(p, "k", key), self.project(p, "v", value)
        weights = self.drop(scaled_dot_product_attention(q, k, v, mask)[1])
        return F.linear((weights @ v).transpose(1, 2).flatten(2), p["o"], p.get("bo"))
"""
)


def grading(exercise: str, text: str, seed: int = 5) -> Answers:
    package = get_exercise(exercise).package
    subject = importlib.import_module(f"{package}.suite.scenarios").SUBJECT
    submission = LocalSubmission.from_source(text, filename=f"{exercise}.py")
    submission.first_calls = getattr(importlib.import_module(f"{package}.reference"), "FIRST_CALLS", {})
    return Answers(submission, subject, seed)


def wrong(found: Answers, component: str) -> list[str]:
    return [one.title for one in found.scenarios if one.component == component and not found.is_right(one)]


@pytest.mark.parametrize(
    ("exercise", "component", "text"),
    [
        ("feedforward", "FeedForward", FEED_FORWARD),
        ("norm", "LayerNorm", NORM),
        ("attention", "MultiHeadAttention", f'BIASES = "qkvo"{ATTENTION}'),
        ("attention", "MultiHeadAttention", f'BIASES = ""{ATTENTION}'),
        ("attention", "MultiHeadAttention", f'BIASES = "qvo"{ATTENTION}'),
    ],
    ids=["feedforward", "norm", "attention", "attention without biases", "attention with three"],
)
@pytest.mark.sampled(5)
def test_any_order_of_all_numbers_is_right(exercise: str, component: str, text: str) -> None:
    found = grading(exercise, text)
    assert wrong(found, component) == []
    assert found.layouts


@pytest.mark.parametrize(
    ("exercise", "component", "text", "old", "new"),
    [
        ("feedforward", "FeedForward", FEED_FORWARD, ".relu()", ".relu() * 1.01"),
        ("feedforward", "FeedForward", FEED_FORWARD, ".relu()", ".sigmoid()"),
        ("norm", "LayerNorm", NORM, "unbiased=False", "unbiased=True"),
        (
            "attention",
            "MultiHeadAttention",
            f'BIASES = "qkvo"{ATTENTION}',
            'self.project(p, "k", key)',
            'self.project(p, "k", query)',
        ),
        ("attention", "MultiHeadAttention", f'BIASES = ""{ATTENTION}', "(weights @ v)", "(weights.mT @ v)"),
    ],
)
@pytest.mark.sampled(3)
def test_a_mistake_stays_one(exercise: str, component: str, text: str, old: str, new: str) -> None:
    assert old in text
    found = grading(exercise, text.replace(old, new))
    assert wrong(found, component)


@pytest.mark.parametrize("style", ["bare_matrices", "packed_qkv", "packed_kv", "numbered_layers"])
def test_an_order_that_the_contract_fixes_is_not_free(style: str) -> None:
    """Head h has the features h d to (h + 1) d: heads whose features take turns are a mistake."""
    text, split = right_files("attention")[style], "x.unflatten(-1, (self.H, self.d)).transpose(1, 2)"
    assert split in text
    interleaved = text.replace(split, "x.unflatten(-1, (self.d, self.H)).permute(0, 3, 1, 2)")
    assert wrong(grading("attention", interleaved), "MultiHeadAttention")


@pytest.mark.slow
def test_names_that_say_another_role_are_not_free() -> None:
    text = right_files("attention")["uneven_shards_by_rows_of_the_input"]
    turn = "self.affine(n, x).unflatten"
    assert turn in text
    swapped = text.replace(turn, "self.affine({'q': 'k', 'k': 'q'}.get(n, n), x).unflatten")
    for one, expected in ((text, False), (swapped, True)):
        assert bool(wrong(grading("attention", one), "MultiHeadAttention")) == expected


@pytest.mark.slow
@pytest.mark.parametrize("seed", [6, 15, 46])  # in which two experiments leave some neurons silent
def test_a_table_of_neurons_is_read_rightly(seed: int) -> None:
    text = right_files("feedforward")["all_of_a_hidden_feature_in_a_row"]
    results = graded("feedforward", LocalSubmission.from_source(text, filename="feedforward.py"), seed)
    assert [one.name for one in results if one.status != "passed"] == []
