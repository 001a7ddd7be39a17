"""A finite fill: equal to eager on rows with a key, the mean over everything on rows without."""

from __future__ import annotations

import pytest
import torch

from tests.zoo.parts.attention.support import MASKS, assert_same, in_form, keep_mask, make_inputs
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import ZooError
from zoo.parts.attention.eager import EagerAttention
from zoo.parts.attention.filled import FilledAttention


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("form", ["bool", "additive"])
@pytest.mark.parametrize("fill", [-1e9, -1e10, -3e4])
def test_it_differs_from_eager_on_fully_masked_rows_alone(kind: str, form: str, fill: float) -> None:
    eager, attention = EagerAttention(8, 2).double(), FilledAttention(8, 2, fill=fill).double()
    attention.load_state_dict(eager.state_dict())
    inputs, keep = make_inputs(4, 5), keep_mask(kind, 4, 5)
    mask = in_form(keep, form)
    heads, weights = attention.attend(*attention.prepare(inputs.query, inputs.key, inputs.value, mask))
    q, k, v, _ = eager.prepare(inputs.query, inputs.key, inputs.value, mask)
    expected_heads, expected_weights = eager.attend(q, k, v, mask)
    if keep is not None:
        closed = ~keep.any(-1, keepdim=True)  # [.., Tq, 1]
        expected_weights = torch.where(closed, 1 / 5, expected_weights)
        expected_heads = torch.where(closed, v.mean(-2, keepdim=True), expected_heads)
    assert_same(weights, expected_weights)
    assert_same(heads, expected_heads)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_the_fill_is_a_number_of_every_dtype(dtype: torch.dtype) -> None:
    """-1e9 is none of float16, whose lowest is -65504."""
    attention, keep = FilledAttention(8, 2).to(dtype), torch.tensor([[True, False, True], [False] * 3])
    x = torch.randn(1, 3, 8, dtype=dtype)
    _, weights = attention.forward_with_weights(x[:, :2], x, x, keep)
    assert torch.all(weights[:, :, 0, 1] == 0)
    assert torch.all(weights[:, :, 0, ::2] > 0)
    torch.testing.assert_close(weights[:, :, 1], torch.full_like(weights[:, :, 1], 1 / 3))


@pytest.mark.parametrize("fill", [0.0, 1e9, float("-inf"), float("nan")])
def test_a_fill_that_is_no_negative_number_is_refused(fill: float) -> None:
    with pytest.raises(ValueError, match=r"expected a negative number, such as -1e9"):
        FilledAttention(8, 2, fill=fill)


def test_a_users_fill_that_is_none_is_a_sentence() -> None:
    with pytest.raises(ZooError, match=r"Option fill=1\.0: expected a number of at most -1"):
        make_blueprint(attention="filled:fill=1")
