"""Sliding-window attention equals eager under a banded mask, and costs what its window does."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.zoo.parts.attention.support import BATCH, assert_same, in_form, keep_mask, make_inputs, run
from tests.zoo.parts.attention.tracing import largest_tensor
from zoo.core.blueprint import make_blueprint
from zoo.models.builder import build
from zoo.parts.attention import sliding
from zoo.parts.attention.eager import EagerAttention
from zoo.parts.attention.sliding import SlidingAttention
from zoo.parts.masking.base import causal_keep


def banded(queries: int, keys: int, window: int) -> Tensor:
    """[Tq, Tk], place by place; the queries are the last ones of the keys' positions."""
    rows = [[abs(i + keys - queries - j) <= window for j in range(keys)] for i in range(queries)]
    return torch.tensor(rows)


def pair(window: int, d_model: int = 8) -> tuple[EagerAttention, SlidingAttention]:
    eager, attention = (
        EagerAttention(d_model, 2).double(),
        SlidingAttention(d_model, 2, window=window).double(),
    )
    attention.load_state_dict(eager.state_dict())
    return eager, attention


@given(data=st.data())
def test_it_equals_eager_under_the_banded_mask(data: st.DataObject) -> None:
    torch.manual_seed(data.draw(st.integers(0, 99)))
    window = data.draw(st.integers(1, 5))
    queries, keys = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))
    kind = data.draw(
        st.sampled_from(["none", "causal", "padding", "per-item-and-head", "closed-rows", "one-query"])
    )
    form = data.draw(st.sampled_from(["bool", "additive"]))
    eager, attention = pair(window)
    keep, band = keep_mask(kind, queries, keys), banded(queries, keys, window)
    inputs = make_inputs(queries, keys)
    mask, whole = in_form(keep, form), in_form(band if keep is None else keep & band, form)
    with pytest.MonkeyPatch.context() as patch:  # short blocks have more borders
        patch.setattr(sliding, "LEAST_BLOCK", data.draw(st.integers(1, 4)))
        assert_same(run(attention, inputs, mask), run(eager, inputs, whole))
        shown = attention.forward_with_weights(inputs.query, inputs.key, inputs.value, mask)
    assert_same(shown, eager.forward_with_weights(inputs.query, inputs.key, inputs.value, whole))


@pytest.mark.parametrize("window", [3, 70])
@pytest.mark.parametrize("causal", [True, False])
def test_long_sequences_equal_eager_in_blocks_as_shipped(window: int, causal: bool) -> None:
    eager, attention = pair(window)
    inputs, band = make_inputs(150, 150, "self", batch=1), banded(150, 150, window)
    mask = causal_keep(150, 150) if causal else None
    assert_same(
        run(attention, inputs, mask), run(eager, inputs, band & causal_keep(150, 150) if causal else band)
    )


def test_what_is_outside_the_window_has_no_influence() -> None:
    _, attention = pair(window=2)
    x = make_inputs(8, 8, "self").query
    for i in range(8):
        (gradient,) = torch.autograd.grad(attention(x, x, x)[:, i].sum(), x)
        seen = gradient.abs().sum(dim=(0, 2)) > 0
        assert seen.tolist() == [abs(i - j) <= 2 for j in range(8)]


def test_the_last_queries_see_the_last_keys() -> None:
    """As when decoding with cached keys: pytorch/pytorch#108108 is what goes wrong otherwise."""
    _, attention = pair(window=3)
    inputs = make_inputs(9, 9, "self")
    x = inputs.query
    whole = attention(x, x, x, causal_keep(9, 9))
    assert_same(attention(x[:, -2:], x, x, causal_keep(2, 9)), whole[:, -2:])


def test_a_row_that_the_window_closes_is_zero() -> None:
    """Its keys are allowed by the mask, but far away."""
    _, attention = pair(window=1)
    keep = torch.ones(1, 1, 5, 5, dtype=torch.bool)
    keep[..., 0, :2] = False
    out, _, of_parameters = run(attention, make_inputs(5, 5), keep)
    bias = attention.state_dict()["out_proj.bias"]
    assert torch.equal(out[:, 0], bias.expand(BATCH, -1))
    assert not torch.isclose(out[:, 1], bias).all()
    assert all(torch.isfinite(gradient).all() for gradient in of_parameters.values())


@pytest.mark.parametrize("form", ["bool", "additive"])
def test_time_and_memory_do_not_grow_with_the_square_of_the_length(form: str) -> None:
    attention = SlidingAttention(4, 1, window=8).double()
    inputs = make_inputs(512, 512, "self", batch=1, d_model=4)
    mask = in_form(torch.ones(1, 1, 1, 512, dtype=torch.bool), form)
    assert largest_tensor(lambda: run(attention, inputs, mask)) < 512 * 512 / 8


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_of_nothing_is_refused(window: int) -> None:
    with pytest.raises(ValueError, match=f"window={window}: expected at least 1"):
        SlidingAttention(8, 2, window=window)


def test_in_a_model_eager_stands_between_decoder_and_memory() -> None:
    sizes = {"d_model": 8, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
    layer = build(make_blueprint(attention="sliding:window=2:bias=false", **sizes)).decoder.layers[0]
    assert isinstance(layer.self_attention, SlidingAttention)
    assert layer.self_attention.window == 2
    assert isinstance(layer.cross_attention, EagerAttention)
    assert layer.cross_attention.q_proj.bias is None
