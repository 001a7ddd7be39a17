"""Talking heads: multi-head attention to begin with, and no place seen through another head."""

from __future__ import annotations

import pytest
import torch

from tests.zoo.parts.attention.support import (
    HEADS,
    PER_HEAD,
    assert_same,
    in_form,
    keep_mask,
    make_inputs,
    run,
)
from zoo.parts.attention.eager import EagerAttention
from zoo.parts.attention.talking import TalkingHeadsAttention


def test_it_starts_as_multi_head_attention() -> None:
    eager, attention = EagerAttention(8, HEADS).double(), TalkingHeadsAttention(8, HEADS).double()
    missing = attention.load_state_dict(eager.state_dict(), strict=False).missing_keys
    assert missing == ["mix_scores", "mix_weights"]
    for kind in ("none", "causal", "closed-rows"):
        inputs, keep = make_inputs(4, 5), keep_mask(kind, 4, 5)
        (out, of_inputs, _), expected = run(attention, inputs, keep), run(eager, inputs, keep)
        assert_same((out, of_inputs), expected[:2])


@pytest.mark.parametrize("kind", PER_HEAD)
@pytest.mark.parametrize("form", ["bool", "additive"])
def test_a_place_hidden_from_some_heads_only_is_refused(kind: str, form: str) -> None:
    attention, inputs = TalkingHeadsAttention(8, HEADS).double(), make_inputs(4, 5)
    with pytest.raises(ValueError, match=r"hides from some heads only; use attention=eager"):
        attention(inputs.query, inputs.key, inputs.value, in_form(keep_mask(kind, 4, 5), form))


def test_heads_may_differ_in_what_is_added_to_scores() -> None:
    """As with ALiBi: other numbers for each head, the same places hidden."""
    attention, inputs = TalkingHeadsAttention(8, HEADS).double(), make_inputs(4, 5)
    bias = torch.randn(1, HEADS, 4, 5, dtype=torch.float64)
    bias[..., 2] = float("-inf")
    eager = EagerAttention(8, HEADS).double()
    eager.load_state_dict({n: v for n, v in attention.state_dict().items() if "mix" not in n})
    assert_same(run(attention, inputs, bias)[0], run(eager, inputs, bias)[0])


def test_what_is_hidden_stays_exactly_zero_after_mixing() -> None:
    attention, inputs = TalkingHeadsAttention(8, HEADS).double(), make_inputs(4, 5)
    torch.nn.init.normal_(attention.mix_scores)
    torch.nn.init.normal_(attention.mix_weights)
    keep = keep_mask("closed-rows", 4, 5)
    _, weights = attention.forward_with_weights(inputs.query, inputs.key, inputs.value, keep)
    allowed = keep.expand_as(weights)
    assert torch.all(weights[~allowed] == 0)
    assert torch.all(weights[allowed] != 0)


def test_scores_that_overflow_where_hidden_spoil_no_gradient() -> None:
    attention = TalkingHeadsAttention(8, HEADS)
    query, key = torch.full((1, 2, 8), 1e20), torch.randn(1, 3, 8)
    key[:, 1] = 1e20
    out = attention(query, key, key, torch.tensor([True, False, True]).expand(2, 3))
    out.sum().backward()
    assert torch.isfinite(out).all()
    assert all(torch.isfinite(p.grad).all() for p in (attention.mix_scores, attention.mix_weights))
