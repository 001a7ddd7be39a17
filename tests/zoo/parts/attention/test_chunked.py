"""Chunked attention: exact whatever the chunk, dropout and all, in memory for Tq * chunk scores."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.zoo.parts.attention.support import MASKS, assert_same, in_form, keep_mask, make_inputs, run
from tests.zoo.parts.attention.tracing import kept_numbers, largest_tensor
from zoo.parts.attention.chunked import ChunkedAttention
from zoo.parts.attention.eager import EagerAttention

LENGTH, CHUNK, WIDTH = 256, 16, 8


def pair(chunk: int, dropout: float = 0.0) -> tuple[EagerAttention, ChunkedAttention]:
    eager, attention = EagerAttention(8, 2).double(), ChunkedAttention(8, 2, dropout, chunk=chunk).double()
    attention.load_state_dict(eager.state_dict())
    return eager, attention


@given(data=st.data())
def test_any_chunk_equals_eager(data: st.DataObject) -> None:
    torch.manual_seed(data.draw(st.integers(0, 99)))
    eager, attention = pair(data.draw(st.integers(1, 12)))
    queries, keys = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 11))
    kind, form = data.draw(st.sampled_from(MASKS)), data.draw(st.sampled_from(["bool", "additive"]))
    inputs, mask = make_inputs(queries, keys), in_form(keep_mask(kind, queries, keys), form)
    assert_same(run(attention, inputs, mask), run(eager, inputs, mask))


@pytest.mark.parametrize("size", [1.0, 300.0, 1e4])
def test_scores_of_any_size_do_not_overflow(size: float) -> None:
    """Also where the first chunk is far below, or far above, what follows."""
    eager, attention = (one.float() for one in pair(2))
    query, key, value = (x.detach().float() for x in vars(make_inputs(4, 6)).values())
    for scaled in (key * torch.linspace(1, size, 6)[:, None], key * torch.linspace(size, 1, 6)[:, None]):
        out = attention(query, scaled, value)
        torch.testing.assert_close(out, eager(query, scaled, value), rtol=1e-4, atol=1e-4)


def test_a_bias_on_the_scores_gets_its_gradient() -> None:
    inputs, results = make_inputs(4, 7), []
    bias = torch.randn(1, 2, 4, 7, dtype=torch.float64, requires_grad=True)
    for attention in pair(3):
        bias.grad = None
        attention(inputs.query, inputs.key, inputs.value, bias).square().sum().backward()
        assert bias.grad is not None
        results.append(bias.grad)
    assert_same(results[0], results[1])


@pytest.mark.parametrize("masked", [False, True])
def test_dropout_is_the_same_forward_and_backward(masked: bool) -> None:
    """The heads are linear in the values: <heads, c> = <values, its gradient>, if both see the same weights."""
    _, attention = pair(2, dropout=0.4)
    q, k, v = (torch.randn(3, 2, n, 4, dtype=torch.float64) for n in (5, 7, 7))
    v.requires_grad_()
    heads, _ = attention.attend(q, k, v, keep_mask("closed-rows", 5, 7) if masked else None)
    cotangent = torch.randn_like(heads)
    (gradient,) = torch.autograd.grad(heads, v, cotangent)
    assert_same((heads * cotangent).sum(), (v * gradient).sum())


def test_dropout_does_not_touch_the_sum_that_weights_are_divided_by() -> None:
    """Two chunks: what is dropped is 0, what is kept is the weight over 1 - p."""
    eager, attention = pair(3, dropout=0.5)
    q, k, v = (torch.randn(1, 2, 5, 4, dtype=torch.float64) for _ in range(3))
    unit = torch.eye(5, dtype=torch.float64).expand(1, 2, 5, 5)
    _, weights = eager.attend(q, k, v, None)
    dropped, _ = attention.attend(q, k, unit[..., :4], None)  # values that show the weights of four keys
    kept = dropped != 0
    assert kept.any()
    assert not kept.all()
    assert_same(dropped[kept], 2 * weights[..., :4][kept])


def inputs_of_length(length: int) -> torch.Tensor:
    return torch.randn(1, length, WIDTH, requires_grad=True)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@pytest.mark.parametrize("form", ["none", "bool", "additive"])
def test_training_never_holds_all_scores(dropout: float, form: str) -> None:
    attention, x = ChunkedAttention(WIDTH, 1, dropout, chunk=CHUNK), inputs_of_length(LENGTH)
    mask = None if form == "none" else in_form(torch.ones(1, 1, 1, LENGTH, dtype=torch.bool), form, x.dtype)
    assert kept_numbers(lambda: attention(x, x, x, mask)) < LENGTH * LENGTH / 2
    assert largest_tensor(lambda: attention(x, x, x, mask).sum().backward()) <= LENGTH * CHUNK
    eager = EagerAttention(WIDTH, 1)
    assert kept_numbers(lambda: eager(x, x, x, mask)) >= LENGTH * LENGTH
    assert largest_tensor(lambda: eager(x, x, x, mask)) >= LENGTH * LENGTH


def test_what_is_kept_for_the_backward_pass_grows_with_the_length_alone() -> None:
    """But for one number a query and chunk."""
    attention = ChunkedAttention(WIDTH, 1, chunk=CHUNK)
    sizes = []
    for length in (LENGTH, 2 * LENGTH):
        x = inputs_of_length(length)
        sizes.append(kept_numbers(lambda x=x: attention(x, x, x)))
    assert sizes[1] - 2 * sizes[0] <= 3 * 2 * LENGTH * LENGTH / CHUNK


@pytest.mark.parametrize("chunk", [0, -1])
def test_a_chunk_of_nothing_is_refused(chunk: int) -> None:
    with pytest.raises(ValueError, match=f"chunk={chunk}: expected at least 1"):
        ChunkedAttention(8, 2, chunk=chunk)
