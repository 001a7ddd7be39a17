"""Differential attention: what two maps have in common is taken away."""

from __future__ import annotations

import pytest
import torch

from tests.zoo.parts.attention.support import HEADS, assert_same, keep_mask, make_inputs
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import CombinationError
from zoo.models.builder import build
from zoo.parts.attention.differential import DifferentialAttention, halves


def make(**options: float) -> DifferentialAttention:
    return DifferentialAttention(8, HEADS, **options).double()


@pytest.mark.parametrize("lambda_init", [0.0, 0.2, 0.8])
def test_lambda_starts_near_its_initial_value(lambda_init: float) -> None:
    found = torch.stack([make(lambda_init=lambda_init).learned_lambda() for _ in range(200)])
    assert abs(found.mean() - lambda_init) < 0.01
    assert found.std() > 0  # drawn, so that it can be learned


def test_rows_of_the_weights_sum_to_what_lambda_leaves() -> None:
    attention, inputs, keep = make(), make_inputs(4, 5), keep_mask("closed-rows", 4, 5)
    _, weights = attention.forward_with_weights(inputs.query, inputs.key, inputs.value, keep)
    expected = (1 - attention.learned_lambda()) * keep.any(-1).expand(-1, HEADS, -1)
    torch.testing.assert_close(weights.sum(-1), expected)
    assert (weights < 0).any()


def test_equal_maps_cancel_out_where_lambda_is_one() -> None:
    attention = make()
    with torch.no_grad():
        for part in (attention.q_proj, attention.k_proj):
            for parameter in part.parameters():  # both halves of each head alike
                of_head = parameter.unflatten(0, (HEADS, 2, -1))
                of_head[:, 1] = of_head[:, 0]
        attention.lambda_q.zero_()
        attention.lambda_init = 1.0
    inputs = make_inputs(4, 5)
    _, weights = attention.forward_with_weights(inputs.query, inputs.key, inputs.value)
    assert_same(weights, torch.zeros_like(weights))  # a product may round its columns differently


def test_each_head_is_normed_by_itself() -> None:
    attention, inputs = make(lambda_init=0.25), make_inputs(4, 5)
    heads, _ = attention.attend(*attention.prepare(inputs.query, inputs.key, inputs.value * 1e3, None))
    torch.testing.assert_close(heads.square().mean(-1).sqrt(), torch.full((3, HEADS, 4), 0.75).double())


def test_second_derivatives_at_closed_rows_are_those_of_the_function() -> None:
    """Their heads are 0, where a vector norm has none."""
    attention, keep = make(), keep_mask("closed-rows", 2, 3)
    inputs = (x.detach()[:1].requires_grad_() for x in make_inputs(2, 3).leaves())
    assert torch.autograd.gradgradcheck(lambda q, k, v: attention(q, k, v, keep[:1]), tuple(inputs))


@pytest.mark.parametrize("lambda_init", [1.0, 2.0, -0.1, float("nan")])
def test_a_lambda_that_leaves_nothing_is_refused(lambda_init: float) -> None:
    with pytest.raises(ValueError, match=r"lambda_init=.*: expected at least 0 and less than 1"):
        make(lambda_init=lambda_init)


def test_heads_of_odd_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"Heads of odd width cannot be halved: d_model=6 over num_heads=2"):
        DifferentialAttention(6, 2)
    with pytest.raises(
        CombinationError, match=r"multiple of 2, but d_model=6 .* Use d_model=8. \(rule head-width\)"
    ):
        build(make_blueprint(attention="differential", d_model=6, num_heads=2))


@pytest.mark.parametrize("width", [4, 6, 8])
def test_both_maps_have_pairs_that_are_turned_fast_and_slow(width: int) -> None:
    x = torch.arange(width)[None]
    first, second = (half[0].tolist() for half in halves(x))
    assert sorted(first + second) == list(range(width))
    expected = {
        4: [0, 1],
        6: [0, 1, 2],
        8: [0, 1, 4, 5],
    }  # pairs 0, 2, .. of 2i and 2i + 1, if there are so many
    assert first == expected[width]


def test_a_width_that_is_no_multiple_of_four_works_too() -> None:
    attention, x = DifferentialAttention(12, 2).double(), torch.randn(1, 3, 12, dtype=torch.float64)
    q, k, v, _ = attention.prepare(x, x, x, None)
    first = (q[..., :3] @ k[..., :3].mT / 3**0.5).softmax(-1)
    second = (q[..., 3:] @ k[..., 3:].mT / 3**0.5).softmax(-1)
    _, weights = attention.attend(q, k, v, None)
    torch.testing.assert_close(weights, first - attention.learned_lambda() * second)
