"""Positional encodings: formulas, lengths, and what is trained."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from zoo.encodings.sinusoidal import SinusoidalPositions
from zoo.plugins import get_registry
from zoo.registry import Variant

every_encoding = pytest.mark.parametrize("variant", get_registry().variants("encoding"), ids=lambda v: v.name)


def make(variant: Variant, d_model: int = 6, max_len: int = 10) -> Any:
    return variant.load()(d_model, max_len)


@pytest.mark.parametrize("d_model", [1, 2, 5, 6])
@pytest.mark.parametrize("base", [10000.0, 100.0])
def test_sinusoidal_is_the_formula(d_model: int, base: float) -> None:
    got = SinusoidalPositions(d_model, 50, base)(torch.zeros(1, 50, d_model))[0]
    for t in (0, 1, 7, 49):
        for column in range(d_model):
            angle = t / base ** ((column - column % 2) / d_model)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert got[t, column].item() == pytest.approx(expected, abs=1e-7)


def test_sinusoidal_is_computed_in_double_precision() -> None:
    """In float32, the angle at late positions would be off by a multiple of what is allowed here."""
    got = SinusoidalPositions(4, 100_001)(torch.zeros(1, 100_001, 4))[0, -1]
    expected = [math.sin(1e5), math.cos(1e5), math.sin(1e3), math.cos(1e3)]
    assert got.tolist() == pytest.approx(expected, abs=1e-6)


def test_sinusoidal_has_nothing_to_train_or_save() -> None:
    encoding = SinusoidalPositions(6, 10)
    assert not list(encoding.parameters())
    assert not encoding.state_dict()
    assert encoding.to(torch.bfloat16)(torch.zeros(1, 2, 6, dtype=torch.bfloat16)).dtype == torch.bfloat16


def test_learned_positions_are_one_trained_table() -> None:
    torch.manual_seed(0)
    encoding = get_registry().get("encoding", "learned").load()(64, 100, std=0.5)
    (table,) = encoding.parameters()
    assert table.shape == (100, 64)
    assert table.std().item() == pytest.approx(0.5, rel=0.05)
    x = torch.randn(2, 7, 64)
    torch.testing.assert_close(encoding(x), x + table[:7])
    encoding(x).sum().backward()
    assert torch.equal(table.grad, torch.cat((torch.full((7, 64), 2.0), torch.zeros(93, 64))))


@every_encoding
def test_positions_are_added_and_alike_for_every_item(variant: Variant) -> None:
    encoding = make(variant)
    x = torch.randn(3, 4, 6)
    added = encoding(x) - x
    torch.testing.assert_close(added, added[:1].expand_as(added), atol=1e-6, rtol=0)
    torch.testing.assert_close(encoding(x[:, :2]), encoding(x)[:, :2])


@every_encoding
def test_it_tells_positions_apart_as_declared(variant: Variant) -> None:
    out = make(variant)(torch.ones(1, 10, 6))[0]
    differences = (out[:, None] - out[None]).abs().amax(-1) + torch.eye(10)
    assert bool((differences > 1e-3).all()) == variant.capabilities["positional"]


@every_encoding
def test_it_takes_max_len_and_no_more(variant: Variant) -> None:
    encoding = make(variant)
    assert encoding(torch.zeros(1, 10, 6)).shape == (1, 10, 6)
    assert encoding(torch.zeros(0, 1, 6)).shape == (0, 1, 6)
    if variant.capabilities["positional"]:
        with pytest.raises(ValueError, match="has 11 positions, but the encoding was made for max_len=10"):
            encoding(torch.zeros(1, 11, 6))
