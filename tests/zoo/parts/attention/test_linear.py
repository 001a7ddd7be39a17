"""Linear attention: both of its forms are one formula, and the linear one forms no weights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.zoo.parts.attention.support import BATCH, HEADS, assert_same, keep_mask, make_inputs, run
from tests.zoo.parts.attention.tracing import largest_tensor
from zoo.parts.attention.linear import LinearAttention, feature_map
from zoo.parts.encoding.base import Positions
from zoo.parts.masking.base import causal_keep


def make(**options: float) -> LinearAttention:
    return LinearAttention(8, HEADS, **options).double()


@pytest.mark.parametrize("kind", ["none", "padding", "one-query", "closed-item"])
def test_the_linear_form_equals_the_quadratic_one(kind: str) -> None:
    attention, inputs, keep = make(), make_inputs(4, 5), keep_mask(kind, 4, 5)
    full = (torch.ones(1, 1, 1, 5, dtype=torch.bool) if keep is None else keep).expand(BATCH, HEADS, 4, 5)
    assert_same(run(attention, inputs, keep), run(attention, inputs, full))


def test_a_causal_mask_is_a_running_sum() -> None:
    attention, x = make(), make_inputs(6, 6, "self").query
    q, k, v, _ = attention.prepare(x, x, x, None)
    sums = (k[..., None] * v[..., None, :]).cumsum(dim=2)  # [B, H, T, d, d]
    expected = (q[..., None, :] @ sums)[..., 0, :] / (q * k.cumsum(dim=2)).sum(-1, keepdim=True)
    assert_same(attention.attend(q, k, v, causal_keep(6, 6))[0], expected)


@pytest.mark.parametrize("masked", [False, True])
def test_where_all_queries_see_the_same_keys_no_weights_are_formed(masked: bool) -> None:
    attention, inputs = make(), make_inputs(256, 256, batch=1)
    keep = torch.rand(1, 1, 1, 256) < 0.5 if masked else None
    assert largest_tensor(lambda: run(attention, inputs, keep)) <= 256 * 8
    assert largest_tensor(lambda: run(attention, inputs, causal_keep(256, 256))) >= 256 * 256


def test_the_feature_map_is_elu_plus_one_and_does_not_round_to_zero() -> None:
    x = torch.linspace(-6, 6, 25, dtype=torch.float64, requires_grad=True)
    expected = torch.nn.functional.elu(x) + 1
    assert_same(feature_map(x), expected)
    assert_same(torch.autograd.grad(feature_map(x).sum(), x), torch.autograd.grad(expected.sum(), x))
    low = torch.tensor([-30.0, 1000.0], requires_grad=True)
    assert torch.all(feature_map(low) > 0)
    assert torch.all(torch.autograd.grad(feature_map(low).sum(), low)[0] > 0)


def test_dropout_falls_on_the_heads_in_both_forms() -> None:
    attention = make(dropout=0.25)
    q, k, v = (torch.randn(50, HEADS, 5, 4, dtype=torch.float64).abs() for _ in range(3))
    expected, _ = attention.eval().attend(q, k, v, None)
    attention.train()
    for keep in (None, torch.ones(1, 1, 5, 5, dtype=torch.bool)):
        heads, _ = attention.attend(q, k, v, keep)
        kept = heads != 0
        assert abs(1 - kept.double().mean() - 0.25) < 0.05
        assert_same(heads[kept], expected[kept] / 0.75, tolerance=1e-9)


class Turn(Positions):
    """Each pair of features turned by the position: Su et al. 2021."""

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        return turned(q), turned(k)


def turned(x: Tensor) -> Tensor:
    angle = torch.arange(x.size(2), dtype=x.dtype)[:, None] * 0.7 ** torch.arange(x.size(3) // 2)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


@pytest.mark.parametrize("causal", [True, False])
def test_positions_turn_the_numerator_and_leave_the_denominator(causal: bool) -> None:
    attention, x = make(), make_inputs(5, 5, "self").query
    q, k, v, _ = attention.prepare(x, x, x, None)
    keep = causal_keep(5, 5) if causal else torch.ones(1, 1, 5, 5, dtype=torch.bool)
    above = (turned(q) @ turned(k).mT).masked_fill(~keep, 0)
    below = (q @ k.mT).masked_fill(~keep, 0).sum(-1, keepdim=True)
    expected = attention.out_proj(attention.merge((above / below) @ v))
    assert_same(attention(x, x, x, keep if causal else None, positions=Turn()), expected)
    assert_same(attention.forward_with_weights(x, x, x, keep, positions=Turn())[1], above / below)
