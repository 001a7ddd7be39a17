"""Mask forms: each there and back over the live registry, and what cannot be said in one."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from zoo.core.blueprint import make_blueprint
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.models.builder import build
from zoo.parts.mask.adapter import MaskAdapter
from zoo.parts.mask.lengths import LengthsMask

FORMS = get_registry().variants("mask")
every_form = pytest.mark.parametrize("variant", FORMS, ids=lambda v: v.name)


def prefixes(shape: tuple[int, int, int, int], seed: int) -> Tensor:
    """A keep mask in which each query sees the first so many keys: what every form can say."""
    *rows, keys = shape
    counts = torch.randint(0, keys + 1, (*rows, 1), generator=torch.Generator().manual_seed(seed))
    return torch.arange(keys) < counts


@every_form
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 4), st.integers(1, 5)),
    seed=st.integers(0, 99),
)
def test_there_and_back(variant: Variant, shape: tuple[int, int, int, int], seed: int) -> None:
    form, keep = variant.load()(), prefixes(shape, seed)
    assert torch.equal(form.decode(form.encode(keep, torch.float32), shape[-1]), keep)


@every_form
@given(
    shape=st.tuples(st.integers(1, 3), st.integers(1, 2), st.integers(1, 4), st.integers(1, 4)),
    data=st.data(),
)
def test_any_mask_comes_back_as_it_was_or_is_refused(
    variant: Variant, shape: tuple[int, int, int, int], data: st.DataObject
) -> None:
    size = math.prod(shape)
    cells = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    form, keep = variant.load()(), torch.tensor(cells).view(shape)
    try:
        mask = form.encode(keep, torch.float32)
    except ValueError:
        holes = (~keep[..., :-1] & keep[..., 1:]).any()  # a hidden key, then a visible one
        assert holes
        return
    assert mask.shape[:-1] == keep.shape[:-1]  # no batch, head or query is spelt out that was broadcast
    assert torch.equal(form.decode(mask, shape[-1]), keep)


@pytest.mark.parametrize("name", ["bool", "drop", "additive", "int"])
def test_all_but_lengths_say_everything(name: str) -> None:
    form, keep = get_registry().get("mask", name).load()(), torch.tensor([[[[False, True, False, True]]]])
    assert torch.equal(form.decode(form.encode(keep, torch.float32), 4), keep)


@every_form
@pytest.mark.parametrize("value", [True, False])
def test_all_hidden_and_nothing_hidden(variant: Variant, value: bool) -> None:
    form, keep = variant.load()(), torch.full((2, 1, 3, 4), value)
    assert torch.equal(form.decode(form.encode(keep, torch.float64), 4), keep)


KEEP = torch.tensor([[True, True, False]])


@pytest.mark.parametrize(
    ("name", "expected", "dtype"),
    [
        ("bool", [[True, True, False]], torch.bool),
        ("drop", [[False, False, True]], torch.bool),
        ("additive", [[0.0, 0.0, float("-inf")]], torch.float32),
        ("int", [[1, 1, 0]], torch.int64),
        ("lengths", [[2]], torch.int64),
    ],
)
def test_each_form_is_what_it_says(name: str, expected: list[Any], dtype: torch.dtype) -> None:
    mask = get_registry().get("mask", name).load()().encode(KEEP, torch.float32)
    assert (mask.tolist(), mask.dtype) == (expected, dtype)


def test_an_additive_mask_has_the_dtype_of_the_scores() -> None:
    form = get_registry().get("mask", "additive").load()()
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        assert form.encode(KEEP, dtype).dtype == dtype


@pytest.mark.parametrize("keep", [[False, True], [True, False, True]])
def test_lengths_refuses_what_no_length_says(keep: list[bool]) -> None:
    with pytest.raises(ValueError, match=r"a hidden one comes before a visible one .* use mask=bool"):
        LengthsMask().encode(torch.tensor([[keep]]), torch.float32)


def test_lengths_refuses_that_in_a_compiled_graph_too() -> None:
    """Where no branch can be taken on a value."""
    torch._dynamo.reset()
    encode = torch.compile(LengthsMask().encode, backend="eager", fullgraph=True)
    assert encode(KEEP, torch.float32).tolist() == [[2]]
    with pytest.raises(RuntimeError, match=r"a hidden one comes before a visible one .* use mask=bool"):
        encode(~KEEP, torch.float32)
    torch._dynamo.reset()


def test_a_model_whose_masks_travel_as_lengths_takes_padding_at_the_end_only() -> None:
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 8, "num_encoder_layers": 1, "num_decoder_layers": 1}
    model, plain = (build(make_blueprint(mask=mask, **sizes), seed=0).eval() for mask in ("lengths", "bool"))
    src, tgt = torch.tensor([[3, 4, 5], [6, 0, 0]]), torch.tensor([[1, 7, 8], [1, 9, 0]])
    torch.testing.assert_close(model(src, tgt)[tgt != 0], plain(src, tgt)[tgt != 0])
    with pytest.raises(ValueError, match="Put padding at the end"):
        model(src.flip(1), tgt)


@pytest.mark.parametrize("travelling", [v.name for v in FORMS])
@pytest.mark.parametrize("taken", ["bool", "additive"])
def test_the_adapter_converts(travelling: str, taken: str) -> None:
    forms = {name: get_registry().get("mask", name).load()() for name in (travelling, taken)}
    adapter = MaskAdapter(forms[travelling], forms[taken])
    keep = prefixes((2, 1, 3, 4), seed=0)
    got = adapter(forms[travelling].encode(keep, torch.float32), 4, torch.float32)
    assert got is not None
    assert torch.equal(got, forms[taken].encode(keep, torch.float32))
    assert adapter(None, 4, torch.float32) is None
