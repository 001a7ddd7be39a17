"""The line of a known mistake: where the values of a file become those of right code with this mistake."""

from __future__ import annotations

import importlib
import math

import pytest
import torch

from grader.edits.edits import Edits
from grader.engine.grading import Grading
from grader.engine.local import LocalSubmission
from grader.engine.scenario import scenarios_of
from grader.exercises.kv_cache.suite.scenarios import SUBJECT
from grader.places.finder import Finder
from grader.places.right_values import mistaken_values_of
from tests.grader.places.placed import line_of
from tests.grader.right import right_files

PACKED = '''"""A packed projection, and a cache of lists."""
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class KVCache:
    keys: list = field(default_factory=list)
    values: list = field(default_factory=list)

    def push(self, k, v):
        self.keys.append(k)
        self.values.append(v)

    def stacked(self):
        return torch.stack(self.keys, dim=1), torch.stack(self.values, dim=1)


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("heads")
        self.n_head = num_heads
        self.c_attn = nn.Linear(d_model, 3 * d_model)
        self.c_proj = nn.Linear(d_model, d_model)

    def forward(self, x, cache=None):
        if cache is None:
            cache = KVCache()
        d_model = x.shape[-1]
        q, k, v = self.c_attn(x.squeeze(1)).split(d_model, dim=-1)
        q, k, v = (t.unflatten(-1, (self.n_head, -1)) for t in (q, k, v))
        cache.push(k, v)
        keys, values = cache.stacked()
        scores = torch.einsum("bhd,bthd->bht", q, keys)
        scores = scores * q.shape[-1] ** -0.5
        weights = F.softmax(scores, dim=-1)
        out = torch.einsum("bht,bthd->bhd", weights, values)
        out = self.c_proj(out.flatten(1))
        return out[:, None], cache
'''
COMPONENT = "CachedAttention"


def grading_of(text: str) -> Grading:
    return Grading(LocalSubmission.from_source(text, filename="kv_cache.py"), SUBJECT, 1)


@pytest.mark.slow
def test_it_is_shown_where_no_change_of_a_line_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Edits, "among", lambda *_, **__: iter(()))
    monkeypatch.setattr(Edits, "forced", lambda _: iter(()))
    wrong = PACKED.replace("q.shape[-1] ** -0.5", "d_model ** -0.5")
    spots = Finder(wrong).of_component(grading_of(wrong), COMPONENT)
    assert spots["scale-wrong"].line == line_of(wrong, "d_model ** -0.5")
    assert not spots["scale-wrong"].proved
    assert Finder(PACKED).of_component(grading_of(PACKED), COMPONENT) == {}


@pytest.mark.slow
def test_a_helper_that_is_wrong_for_each_of_its_callers_is_shown_itself() -> None:
    wrong = right_files("attention")["bare_matrices"]
    for old, new in {
        "x.unflatten(-1, (self.H, self.d)).transpose(1, 2)": "x.unflatten(-1, (self.d, self.H)).permute(0, 3, 1, 2)",
        "x.transpose(1, 2).flatten(2)": "x.permute(0, 2, 3, 1).flatten(2)",
    }.items():
        assert old in wrong
        wrong = wrong.replace(old, new)
    submission = LocalSubmission.from_source(wrong, filename="attention.py")
    subject = importlib.import_module("grader.exercises.attention.suite.scenarios").SUBJECT
    spots = Finder(wrong).of_component(Grading(submission, subject, 1), "MultiHeadAttention")
    assert line_of(wrong, "(self.d, self.H)") in (
        spots["heads-interleaved"].line,
        spots["heads-interleaved"].other,
    )


def test_values_of_a_mistake_are_those_that_no_right_run_has() -> None:
    wrong = PACKED.replace("q.shape[-1] ** -0.5", "d_model ** -0.5")
    grading = grading_of(wrong)
    findings, accounts = grading.explained(COMPONENT)
    scenario = scenarios_of(grading.scenarios, COMPONENT)[findings.wrong[0]]
    (account,) = accounts
    values = mistaken_values_of(
        SUBJECT, 1, scenario, findings.got[findings.wrong[0]].free, True, account.steps
    )
    right = grading.right(scenario).values["output"].to(torch.float64)
    assert values.values
    assert not values.has(right)
    assert not [one.numbers for one in values.values if not math.isfinite(float(one.numbers.sum()))]


@pytest.mark.slow
def test_one_change_that_makes_all_right_is_looked_for_before_two_mistakes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither name is then looked for; and what is found is the place."""
    asked: list[str] = []
    monkeypatch.setattr("grader.engine.naming.Namer.several", lambda *_: asked.append("two") or [])
    wrong = PACKED.replace("F.softmax(scores, dim=-1)", "F.softmax(scores * 1.7 - scores.sin(), dim=-1)")
    with pytest.MonkeyPatch.context() as hurried:  # a search that finds nothing takes all of its time
        hurried.setattr("grader.places.undoing.ALL_S", 1.0)
        hurried.setattr("grader.places.undoing.LEAST_S", 1.0)
        hurried.setattr("grader.places.wrong_results.REST_S", 0.5)
        grading_of(wrong).explained(COMPONENT, finder=Finder(wrong))
    assert asked == ["two"], "no small change helps"
    wrong = PACKED.replace("F.softmax(scores, dim=-1)", "F.softmax(-scores, dim=-1)")
    grading, finder = grading_of(wrong), Finder(wrong)
    assert grading.explained(COMPONENT, finder=finder)[0].wrong
    assert asked == ["two"]
    assert finder.of_component(grading, COMPONENT)[""].line == line_of(wrong, "-scores")


def test_the_step_that_a_change_adds_is_tried_in_other_lines() -> None:
    text = "import torch\n\ndef f(x, n):\n    table = torch.ones(n, n)\n    return x + table\n"
    cured = text.replace("x + table", "x + table.tril()")
    (tried,) = [new for line, new in Edits(text).as_in(cured, [4]) if "torch.ones(n, n).tril()" in new]
    assert "return x + table\n" in tried


@pytest.mark.slow
def test_a_statement_that_changes_nothing_is_shown_where_no_change_helps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Edits, "among", lambda *_, **__: iter(()))
    monkeypatch.setattr(Edits, "forced", lambda _: iter(()))
    wrong = PACKED.replace("scores = scores * q.shape[-1] ** -0.5", "scores = scores")
    spots = Finder(wrong).of_component(grading_of(wrong), COMPONENT)
    assert {spot.line for spot in spots.values()} == {line_of(wrong, "scores = torch") + 1}
