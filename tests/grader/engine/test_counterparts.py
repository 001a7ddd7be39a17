"""Which number of one code is which number of another: any order is found, and no other code is taken for the same."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.engine.counterparts import Gradients, counterparts

Forward = Callable[..., Tensor]
Shapes = Sequence[tuple[int, ...]]


def feed_forward(d_model: int, d_ff: int) -> tuple[Forward, Shapes]:
    x = torch.randn(2, 3, d_model, dtype=torch.float64)

    def forward(up: Tensor, b: Tensor, down: Tensor, c: Tensor) -> Tensor:
        return (x @ up.T + b).relu() @ down.T + c

    return forward, [(d_ff, d_model), (d_ff,), (d_model, d_ff), (d_model,)]


def attention(width: int, heads: int) -> tuple[Forward, Shapes]:
    x = torch.randn(2, 4, width, dtype=torch.float64)

    def forward(*of: Tensor) -> Tensor:
        q, k, v = (
            (x @ w.T + b).unflatten(-1, (heads, -1)).transpose(1, 2)
            for w, b in zip(of[:3], of[4:7], strict=True)
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v)  # [B, H, T, d]
        return mixed.transpose(1, 2).flatten(2) @ of[3].T + of[7]

    return forward, [*[(width, width)] * 4, *[(width,)] * 4]


def norms(width: int, count: int) -> tuple[Forward, Shapes]:
    x = torch.randn(2, 3, width, dtype=torch.float64)

    def forward(*of: Tensor) -> Tensor:
        result = x
        for gain, shift in zip(of[::2], of[1::2], strict=True):
            result = x + nn.functional.layer_norm(result, (width,), gain, shift).sin()
        return result

    return forward, [(width,)] * (2 * count)


def gradients(
    forward: Forward, shapes: Shapes, order: Tensor | None = None, dtype: torch.dtype = torch.float64
) -> Gradients:
    """Of a code that keeps its numbers in another order, and may round on the way."""

    def compute(values: Tensor, number: int) -> Tensor:
        own = values.clone().requires_grad_()
        ordered = own if order is None else own[order]
        parts = ordered.split([math.prod(shape) for shape in shapes])
        output = forward(*(part.view(shape) for part, shape in zip(parts, shapes, strict=True))).to(dtype)
        draws = torch.Generator().manual_seed(number)
        (found,) = torch.autograd.grad(output, own, torch.randn(output.shape, generator=draws).to(dtype))
        return found

    return compute


def size(shapes: Shapes) -> int:
    return sum(map(math.prod, shapes))


@settings(deadline=None, max_examples=30)
@given(
    st.one_of(
        st.builds(feed_forward, st.integers(2, 6), st.integers(1, 9)),
        st.builds(lambda depth, heads: attention(depth * heads, heads), st.integers(1, 4), st.integers(1, 3)),
        st.builds(norms, st.integers(2, 7), st.integers(1, 3)),
    ),
    st.integers(0, 2**31),
    st.sampled_from([torch.float64, torch.float32]),
)
def test_any_order_is_found(code: tuple[Forward, Shapes], seed: int, dtype: torch.dtype) -> None:
    order = torch.randperm(size(code[1]), generator=torch.Generator().manual_seed(seed))
    ours, theirs = gradients(*code, order, dtype), gradients(*code)
    found = counterparts(ours, theirs, len(order), scale=0.5)
    assert found is not None
    assert sorted(found.tolist()) == list(range(len(order)))
    values = torch.randn(len(order), dtype=torch.float64)
    own = torch.empty_like(values)
    own[found] = values
    mine, right = ours(own, 1), theirs(values, 1)
    assert mine is not None
    assert right is not None
    torch.testing.assert_close(mine[found], right, rtol=0, atol=1e-4 * float(right.abs().max()))


def test_hundreds_of_features_take_few_experiments() -> None:
    forward, shapes = feed_forward(40, 300)
    count, order = [0], torch.randperm(size(shapes))
    ours, theirs = gradients(forward, shapes, order), gradients(forward, shapes)

    def counted(values: Tensor, number: int) -> Tensor | None:
        count[0] += 1
        return ours(values, number)

    assert counterparts(counted, theirs, len(order), scale=0.2) is not None
    assert count[0] < 40


@pytest.mark.parametrize("rounded", [torch.float64, torch.float32])
def test_another_formula_is_not_the_same_in_any_order(rounded: torch.dtype) -> None:
    torch.manual_seed(3)
    right, shapes = attention(6, 2)
    order = torch.randperm(size(shapes))
    for wrong in (
        lambda *of: right(of[0] * 1.01, *of[1:]),
        lambda *of: right(*of) + right(*of).roll(1, 1) * 1e-3,
        lambda *of: right(*of).detach(),
        lambda *of: right(of[0], of[0] + of[1], *of[2:]),
    ):
        ours = gradients(
            lambda *of, wrong=wrong: wrong(*of) + 0 * sum(x.sum() for x in of), shapes, order, rounded
        )
        assert counterparts(ours, gradients(right, shapes), len(order), scale=0.4) is None


def test_a_code_without_gradients_or_with_ones_that_are_no_numbers_is_no_other() -> None:
    theirs = gradients(*feed_forward(3, 4))
    assert counterparts(lambda _values, _number: None, theirs, 31) is None
    assert counterparts(lambda values, _number: values * math.nan, theirs, 31) is None
    assert counterparts(theirs, lambda values, _number: values * math.nan, 31) is None
