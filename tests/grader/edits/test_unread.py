"""What nothing reads, and what else says where something was left out: tried first, and shown where nothing helps."""

from __future__ import annotations

import ast

import pytest

from grader.edits.edits import Edits
from grader.edits.scopes import Scopes
from grader.edits.source_tree import Source
from grader.places.by_source import unread
from tests import solution_file
from tests.grader.places.placed import line_of, place
from tests.grader.right import right_files

NORM = "self.final_norm = nn.LayerNorm(d_model) if norm"
CASES = {
    "an argument that decides": ("encoder", f'{NORM} == "pre" else nn.Identity()', "self.final_norm = nn.Identity()"),
    "a local": ("positions", "position / 10000 ** (even / d_model)", "position / 10000"),
    "a power": ("positions", "10000 ** (even / d_model)", "(10000 * (even / d_model))"),
}  # fmt: skip


FIELDS = '''"""Options in an object."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Options:
    width: int
    inner: int
    rate: float


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        options = Options(d_model, d_ff, dropout)
        self.first = nn.Linear(options.width, options.inner)
        self.second = nn.Linear(options.inner, options.width)
        self.dropout = nn.Dropout(options.rate)

    def forward(self, x):
        return self.second(self.dropout(torch.relu(self.first(x))))
'''

LATER = '''"""Layers under names of their own."""
from torch import nn


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.count = num_layers
        for i in range(num_layers):
            setattr(self, f"block_{i}", make_layer())
        self.last = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x, src_mask=None):
        for i in range(self.count):
            x = getattr(self, "layer_" + str(i))(x, src_mask)
        return self.last(x)
'''

FUNCTIONAL = '''"""Dropout as a function, with a rate that the class keeps."""
import torch
import torch.nn.functional as F
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.inward, self.outward = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.rate = dropout

    def forward(self, x):
        hidden = F.dropout(self.inward(x).clamp(min=0), self.rate, training=self.training)
        return self.outward(hidden)
'''


@pytest.mark.parametrize("title", CASES)
@pytest.mark.sampled(3)
def test_the_line_that_should_read_it_is_shown(title: str) -> None:
    exercise, old, new = CASES[title]
    text = solution_file(exercise).read_text(encoding="utf-8")
    assert old in text
    wrong = text.replace(old, new)
    found = place(exercise, wrong)
    assert found is not None
    assert wrong[: wrong.index(new)].count("\n") + 1 in found.lines
    assert found.proved


@pytest.mark.usefixtures("hurried")
def test_a_local_that_nothing_reads_is_shown_where_no_change_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.places.undoing.Undoing.are_right", lambda *_: False)
    text = solution_file("positions").read_text(encoding="utf-8")
    wrong = text.replace("table[:, 0::2] = angle.sin()", "wave = angle.sin()\n        table[:, 0::2] = 0.5")
    found = place("positions", wrong)
    assert found is not None
    line = wrong[: wrong.index("wave =")].count("\n") + 1
    assert line in found.lines or line + 1 in found.lines


def test_a_local_that_nothing_reads_is_named_on_both_sides() -> None:
    found = unread(Source("def f(x):\n    rows = x + 1\n    return x\n"), ())
    assert found is not None
    assert (found.lines, found.value) == ((2, 3), "nothing reads `rows`")
    assert found.expected == "a step that reads `rows`"


def test_an_argument_alone_is_tried_before_it_under_a_condition() -> None:
    text = "def f(key, value):\n    return key.shape, g(key, key)\n"
    tried = [changed for _, changed in Edits(text).among([2], [])]
    alone, *_ = (i for i, one in enumerate(tried) if "g(key, (value))" in one)
    under, *_ = (i for i, one in enumerate(tried) if "g(key, (value if key.shape else key))" in one)
    assert alone < under


def test_fields_of_an_object_are_tried_for_one_another() -> None:
    wrong = FIELDS.replace(
        "nn.Linear(options.inner, options.width)", "nn.Linear(options.width, options.width)"
    )
    found = place("feedforward", wrong)
    assert found is not None
    assert wrong[: wrong.index("self.second =")].count("\n") + 1 in found.lines
    scopes = Scopes(ast.parse(FIELDS))
    assert scopes.fields["options"] == ["width", "inner", "rate"]


def test_a_name_that_is_computed_is_shown_beside_the_one_that_is_not_there() -> None:
    found = place("encoder", LATER)
    assert found is not None
    assert found.why == "error"
    assert set(found.lines) == {
        LATER[: LATER.index(part)].count("\n") + 1 for part in ('getattr(self, "layer_"', "setattr(")
    }


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.zeros(max_len, d_model)", "torch.zeros(max_len)"),
        ("table = torch.zeros", "table = 1 + None * torch.zeros"),
    ],
)
@pytest.mark.sampled(2)
def test_what_an_index_or_an_operator_cannot_work_on_is_shown_where_it_was_made(old: str, new: str) -> None:
    text = solution_file("positions").read_text(encoding="utf-8")
    assert old in text
    wrong = text.replace(old, new)
    found = place("positions", wrong)
    assert found is not None
    assert wrong[: wrong.index(new)].count("\n") + 1 in found.lines


def test_right_files_read_their_locals() -> None:
    """So what one of them does not read is a sign."""
    for text in right_files("positions").values():
        tree = ast.parse(text)
        lines = [node.end_lineno or 0 for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        assert not [name for line in lines for name in Scopes(tree).unread_locals(line)]


def test_lists_of_more_than_a_few_arguments_have_two_neighbours_exchanged() -> None:
    text = "def f(a, b, c, d, e, g):\n    return h(a, b, c, d, e, g)\n"
    tried = [text for _, text in Edits(text).among([2], [])]
    assert any("h(a, b, d, c, e, g)" in one for one in tried)
    assert not any("h(g, b, c, d, e, a)" in one for one in tried)


@pytest.mark.slow
def test_a_reading_is_proved_only_where_no_other_one_is_right() -> None:
    """Queries for values: the first step is right all the same, with the weights read in another order."""
    text = right_files("kv_cache")["generator_as_cache"]
    old, new = "for t in (q, k, v))", "for t in (q, k, q))"
    assert old in text
    found = place("kv_cache", text.replace(old, new))
    assert found is not None
    assert text[: text.index(old)].count("\n") + 1 in found.lines


def test_an_attribute_that_nothing_reads_is_tried_as_the_rate_of_dropout() -> None:
    assert place("feedforward", FUNCTIONAL) is None
    old, new = (
        "F.dropout(self.inward(x).clamp(min=0), self.rate, training=self.training)",
        "self.inward(x).clamp(min=0)",
    )
    assert old in FUNCTIONAL
    wrong = FUNCTIONAL.replace(old, new)
    found = place("feedforward", wrong)
    assert found is not None
    assert found.proved
    assert line_of(wrong, new) in found.lines


def test_what_is_read_nowhere_is_known_by_class() -> None:
    scopes = Scopes(ast.parse(FUNCTIONAL.replace("self.rate, training", "0.5, training")))
    (rate,) = scopes.unread_attributes(line_of(FUNCTIONAL, "hidden = "))
    assert ast.unparse(rate) == "self.rate"
    assert not Scopes(ast.parse(FUNCTIONAL)).unread_attributes(line_of(FUNCTIONAL, "hidden = "))


def test_an_axis_that_a_result_lacks_is_tried() -> None:
    text = "def f(x, cache):\n    return g(x), cache\n"
    tried = [one for _, one in Edits(text).among([2], [])]
    assert any("g(x).unsqueeze(1), cache" in one for one in tried)


def test_no_name_stands_for_none_where_objects_are_told_apart() -> None:
    text = "def f(x, keys):\n    return x if keys is None else g(x, None)\n"
    tried = [one for _, one in Edits(text).among([2], [])]
    assert not any("keys is (x)" in one or "keys is x" in one for one in tried)
    assert any("g(x, (keys))" in one or "g(x, keys)" in one for one in tried)
