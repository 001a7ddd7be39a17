"""What is kept from an earlier call by the shapes of its arguments must not come back."""

from __future__ import annotations

import ast

import pytest

from grader.catalog import get_exercises
from grader.engine.local import LocalSubmission
from grader.engine.subject import answer_key
from tests import solution_file
from tests.grader.grades import graded

WITHOUT_TENSORS = ("causal_mask", "noam", "reverse_words")  # the same arguments give the same result
KEPT = """

import torch

def _kept_by_shape(function):
    kept = {}

    def again(*args, **kwargs):
        key = tuple(x.shape if isinstance(x, torch.Tensor) else id(x) for x in (*args, *kwargs.values()))
        if key not in kept:
            kept[key] = args, function(*args, **kwargs)  # what is kept has no other's id
        return kept[key][1]

    return again

NAME = _kept_by_shape(NAME)
"""
COMPONENTS = [
    (key, one)
    for key, exercise in get_exercises().items()
    for one in exercise.components
    if one not in WITHOUT_TENSORS
]


@pytest.mark.parametrize(("exercise", "component"), COMPONENTS)
@pytest.mark.sampled(8)
def test_what_is_kept_by_shape_is_seen(exercise: str, component: str) -> None:
    text = solution_file(exercise).read_text(encoding="utf-8")
    named = {
        node.name: node for node in ast.parse(text).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))
    }
    name = component if isinstance(named[component], ast.FunctionDef) else f"{component}.forward"
    if component == "Transformer":
        name = "Transformer.decode"
    results = graded(exercise, LocalSubmission.from_source(text + KEPT.replace("NAME", name)), pairs=False)
    assert [one for one in results if one.status == "failed"]


@pytest.mark.parametrize(("exercise", "component"), COMPONENTS)
@pytest.mark.sampled(4)
def test_a_scenario_of_each_component_comes_after_another_call(exercise: str, component: str) -> None:
    if component == "train_step":
        pytest.skip("its calls go on from each other")
    key = answer_key(get_exercises()[exercise].subject(), 5)
    titles = [one.title for one in key.scenarios if one.component == component]
    assert any(title.endswith("after another call") for title in titles)


COUNTING = """

def _counting(cls):
    class Counting(cls):
        passed = 0

        def forward(self, x):
            start = self.passed if x.size(1) == 1 and not self.training else 0
            self.passed = start + x.size(1)
            return super().forward(torch.cat([torch.zeros_like(x[:, :1])] * start + [x], 1))[:, start:]

    return Counting


SinusoidalPositions = _counting(SinusoidalPositions)
"""


def test_an_input_of_length_one_is_no_next_step() -> None:
    text = solution_file("positions").read_text(encoding="utf-8") + COUNTING
    results = graded("positions", LocalSubmission.from_source(text), pairs=False)
    failed = [one for one in results if one.status == "failed"]
    assert failed
    assert all("after another call" in one.message for one in failed)


ROUNDED = """

import torch

def _as_digits_of_the_first(function):
    kept = {}

    def again(*args, **kwargs):
        given = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)]
        first = kept.setdefault(tuple(x.shape for x in given), given[0].dtype)
        result = function(*args, **kwargs)
        return result if first == given[0].dtype else ROUND

    return again

NAME = _as_digits_of_the_first(NAME)
"""
IN_ITS_DTYPE = "result.to(first).to(result.dtype)"
OF_A_PAIR = "(result[0].to(first).to(result[0].dtype), result[1])"


@pytest.mark.parametrize(
    ("exercise", "name", "rounding"),
    [
        ("attention", "scaled_dot_product_attention", OF_A_PAIR),
        ("positions", "SinusoidalPositions.forward", IN_ITS_DTYPE),
        ("loss", "sequence_loss", IN_ITS_DTYPE),
    ],
)
def test_what_is_kept_in_the_dtype_of_the_first_call_is_seen(exercise: str, name: str, rounding: str) -> None:
    text = solution_file(exercise).read_text(encoding="utf-8")
    changed = text + ROUNDED.replace("NAME", name).replace("ROUND", rounding)
    results = graded(exercise, LocalSubmission.from_source(changed), pairs=False)
    said = [named.id for one in results for named in one.mistakes if one.status == "failed"]
    assert "kept-in-another-dtype" in said
