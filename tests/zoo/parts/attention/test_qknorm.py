"""Query-key normalisation: scores are cosines times a learned number."""

from __future__ import annotations

import math

import pytest
import torch

from tests.zoo.parts.attention.support import HEADS, make_inputs
from zoo.parts.attention.qknorm import QKNormAttention


@pytest.mark.parametrize("length", [2, 10, 128])
def test_the_scale_starts_where_the_paper_says(length: int) -> None:
    attention = QKNormAttention(8, HEADS, length=length)
    assert math.isclose(attention.scale.item(), math.log2(length**2 - length), rel_tol=1e-6)
    assert attention.scale.numel() == 1


def test_the_size_of_queries_and_keys_does_not_matter() -> None:
    attention, inputs = QKNormAttention(8, HEADS, bias=False).double(), make_inputs(4, 5)
    out = attention(inputs.query, inputs.key, inputs.value)
    torch.testing.assert_close(attention(inputs.query * 100, inputs.key / 100, inputs.value), out)
    _, weights = attention.forward_with_weights(inputs.query * 1e6, inputs.key, inputs.value)
    ratio = weights.amax(-1) / weights.amin(-1)
    assert torch.all(ratio.log() <= 2 * attention.scale + 1e-6)  # no score beyond plus or minus g


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_a_vector_of_zeros_has_no_direction_and_a_finite_gradient(dtype: torch.dtype) -> None:
    attention = QKNormAttention(8, HEADS, bias=False).to(dtype)
    x = torch.randn(1, 3, 8, dtype=dtype)
    x[:, 1] = 0
    x.requires_grad_()
    out, weights = attention.forward_with_weights(x, x, x)
    out.sum().backward()
    torch.testing.assert_close(weights[:, :, 1], torch.full_like(weights[:, :, 1], 1 / 3))
    assert torch.isfinite(out).all()
    assert x.grad is not None
    assert torch.isfinite(x.grad).all()


@pytest.mark.parametrize("length", [1, 0, -3])
def test_a_length_without_a_logarithm_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"length={length}: expected at least 2"):
        QKNormAttention(8, HEADS, length=length)
