"""Mask forms: there and back, and the canonical masks."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from zoo.masks.adapter import MaskAdapter
from zoo.masks.base import causal_keep, padding_keep
from zoo.plugins import get_registry
from zoo.registry import Variant

FORMS = get_registry().variants("mask")
every_form = pytest.mark.parametrize("variant", FORMS, ids=lambda v: v.name)
shapes = st.lists(st.integers(0, 4), min_size=1, max_size=4)


@every_form
@given(shape=shapes, seed=st.integers(0, 99))
def test_decode_undoes_encode(variant: Variant, shape: list[int], seed: int) -> None:
    keep = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    form = variant.load()()
    for dtype in (torch.float32, torch.bfloat16, torch.float64):
        mask = form.encode(keep, dtype)
        assert mask.shape == keep.shape
        assert torch.equal(form.decode(mask), keep)


def test_what_the_forms_look_like() -> None:
    keep, minus = torch.tensor([True, False]), float("-inf")
    got = {v.name: v.load()().encode(keep, torch.float64) for v in FORMS}
    assert torch.equal(got["bool"], keep)
    assert torch.equal(got["drop"], torch.tensor([False, True]))
    assert torch.equal(got["additive"], torch.tensor([0.0, minus], dtype=torch.float64))


@pytest.mark.parametrize("travelling", FORMS, ids=lambda v: v.name)
@pytest.mark.parametrize("taken", FORMS, ids=lambda v: v.name)
def test_the_adapter_turns_any_form_into_any_other(travelling: Variant, taken: Variant) -> None:
    keep = torch.rand(2, 1, 3, 4) < 0.5
    here, there = travelling.load()(), taken.load()()
    mask = here.encode(keep, torch.float32)
    got = MaskAdapter(here, there)(mask, torch.float32)
    assert got is not None
    expected = there.encode(keep, torch.float32)
    assert got.dtype == expected.dtype
    assert torch.equal(got, expected)
    if travelling is taken:
        assert got is mask
    assert MaskAdapter(here, there)(None, torch.float32) is None


def test_padding_keep_hides_padding_from_everyone() -> None:
    tokens = torch.tensor([[5, 7, 0], [0, 0, 0]])
    assert torch.equal(padding_keep(tokens, 0), (tokens != 0).reshape(2, 1, 1, 3))
    assert torch.equal(padding_keep(tokens, 7)[0, 0, 0], torch.tensor([True, False, True]))


def test_causal_keep_shows_each_position_itself_and_what_came_before() -> None:
    keep = causal_keep(4)
    assert keep.shape == (1, 1, 4, 4)
    assert all(bool(keep[0, 0, q, k]) == (k <= q) for q in range(4) for k in range(4))
