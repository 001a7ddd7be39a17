"""What the attentions rely on in torch, so that a new version that changes it is found out here."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.parts.attention.base import masked_softmax

CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()


@pytest.fixture
def qkv() -> Tensor:
    return torch.randn(3, 2, 1, 4, 8, dtype=torch.float64)


def test_the_kernels_bool_mask_means_may_attend(qkv: Tensor) -> None:
    expected = F.scaled_dot_product_attention(*qkv, is_causal=True)
    additive = torch.zeros(4, 4, dtype=torch.float64).masked_fill(~CAUSAL, float("-inf"))
    for mask in (CAUSAL, additive):
        torch.testing.assert_close(F.scaled_dot_product_attention(*qkv, attn_mask=mask), expected)


def test_the_modules_bool_mask_means_may_not_attend() -> None:
    module, x = nn.MultiheadAttention(8, 1, batch_first=True), torch.randn(1, 4, 8)
    _, weights = module(x, x, x, attn_mask=~CAUSAL)
    assert torch.all(weights[0][~CAUSAL] == 0)
    out, weights = module(x, x, x, attn_mask=CAUSAL)  # the wrong way round: sees the future, and ends in NaN
    assert torch.all(weights[0, 0, 1:] > 0)
    assert out[0, -1].isnan().all()


def test_is_causal_is_aligned_at_the_top_left(qkv: Tensor) -> None:
    query, key, value = qkv[0][..., -1:, :], qkv[1], qkv[2]
    out = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.testing.assert_close(out, value[..., :1, :])  # one query sees the first key only


def test_a_plain_softmax_over_nothing_is_nan_and_ours_is_zero() -> None:
    scores, closed = torch.randn(1, 3), torch.zeros(1, 3, dtype=torch.bool)
    assert scores.masked_fill(~closed, float("-inf")).softmax(-1).isnan().all()
    assert torch.equal(masked_softmax(scores, closed), torch.zeros(1, 3))


@pytest.mark.parametrize("fill", [-1e9, torch.finfo(torch.float32).min])
def test_a_large_negative_fill_attends_evenly_to_what_is_masked(fill: float) -> None:
    closed = torch.zeros(1, 3, dtype=torch.bool)
    weights = torch.randn(1, 3).masked_fill(~closed, fill).softmax(-1)
    torch.testing.assert_close(weights, torch.full((1, 3), 1 / 3))


def test_adding_minus_infinity_spoils_gradients_and_ours_does_not() -> None:
    mask = torch.tensor([[0.0, float("-inf")], [float("-inf"), float("-inf")]])
    scores = torch.randn(2, 2, requires_grad=True)
    (scores + mask).softmax(-1).nan_to_num(0).sum().backward()
    assert scores.grad is not None
    assert scores.grad[1].isnan().all()
    scores.grad = None
    masked_softmax(scores, mask).sum().backward()
    assert torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("scores_dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_our_softmax_keeps_the_dtype_of_the_scores(scores_dtype: torch.dtype) -> None:
    scores = torch.randn(2, 3, dtype=scores_dtype)
    mask = torch.tensor([0.0, float("-inf"), 0.5])
    for one in (None, mask.to(scores_dtype), mask > -1):
        assert masked_softmax(scores, one).dtype == scores_dtype
