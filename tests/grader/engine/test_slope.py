"""Gradients against the slope that small steps show."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from grader.engine.slope import OTHERS, RIGHT, said_of_gradients

Values = Mapping[str, Tensor]


def result(values: Values) -> Tensor:
    """Of three values, whose gradients have very unequal lengths: 2 for `a`, 1 for `b`, 40 for `c`."""
    return 2 * values["a"] + values["b"] * values["b"] + 40 * values["c"]


def values_and_gradients() -> tuple[dict[str, Tensor], dict[str, Tensor | None]]:
    """Single numbers, and the gradients of `result` there."""
    values = {name: torch.tensor([0.5], dtype=torch.float64) for name in "abc"}
    return values, {"a": torch.tensor([2.0]), "b": torch.tensor([1.0]), "c": torch.tensor([40.0])}


def said(changed: dict[str, Tensor | None]) -> str:
    """What is said where some of the gradients are others."""
    values, gradients = values_and_gradients()
    return said_of_gradients(result, values, gradients | changed, torch.ones(1), result(values))


def test_right_gradients_are_right() -> None:
    assert said({}) == RIGHT


@pytest.mark.parametrize("name", ["a", "b", "c"])
@pytest.mark.parametrize("factor", [0.5, 2.0, -1.0])
def test_each_gradient_counts_however_short_it_is(name: str, factor: float) -> None:
    gradient = values_and_gradients()[1][name]
    assert gradient is not None
    assert said({name: factor * gradient}) == OTHERS


@pytest.mark.parametrize("name", ["a", "c"])
def test_a_value_without_a_gradient_may_not_show(name: str) -> None:
    assert said({name: None}) == OTHERS


def test_nothing_is_said_where_chance_decides() -> None:
    values, gradients = values_and_gradients()
    wrong = {name: 3 * x for name, x in gradients.items() if x is not None}
    assert said_of_gradients(result, values, wrong, torch.ones(1), result(values) + 1) == RIGHT
