"""Gates, sinks, soft caps and norms of queries and keys: their formulas, and what they are without them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from zoo.core.blueprint import make_blueprint
from zoo.core.errors import CombinationError
from zoo.models.builder import build
from zoo.parts.attention.eager import EagerAttention
from zoo.parts.attention.gated import GatedAttention
from zoo.parts.attention.gqa import GroupedQueryAttention
from zoo.parts.attention.grouped import GroupedAttention
from zoo.parts.attention.sinks import SinkAttention
from zoo.parts.attention.sliding import SlidingAttention
from zoo.parts.attention.softcap import SoftCapAttention

KINDS: tuple[type[GroupedAttention], ...] = (
    GatedAttention, GroupedQueryAttention, SinkAttention, SlidingAttention, SoftCapAttention
)  # fmt: skip


def stirred(attention: Any) -> Any:
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in attention.double().parameters():
            parameter += 0.5 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return attention.eval()


def heads(x: Tensor, number: int) -> Tensor:
    return x.unflatten(-1, (number, -1)).transpose(1, 2)  # [B, T, H*d] -> [B, H, T, d]


def inputs(width: int = 8, length: int = 5) -> Tensor:
    return torch.randn(2, length, width, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


@pytest.mark.parametrize("headwise", [False, True])
def test_a_gate_multiplies_what_the_heads_give(headwise: bool) -> None:
    attention, x = stirred(GatedAttention(8, 2, headwise=headwise)), inputs()
    plain = EagerAttention(8, 2).double().eval()
    shared = {name: value for name, value in attention.state_dict().items() if "gate" not in name}
    plain.load_state_dict(shared)
    identity = torch.eye(8, dtype=torch.float64)
    with torch.no_grad():
        plain.out_proj.weight.copy_(identity)
        plain.out_proj.bias.zero_()
    gate = torch.sigmoid(x @ attention.gate_proj.weight.T + attention.gate_proj.bias)  # [B, T, D or H]
    gate = gate.repeat_interleave(4, dim=-1) if headwise else gate
    torch.testing.assert_close(attention(x, x, x), attention.out_proj(plain(x, x, x) * gate))
    assert attention.gate_proj.weight.shape == ((2, 8) if headwise else (8, 8))


@given(st.integers(0, 2**31))
def test_weights_and_the_sinks_share_sum_to_one(seed: int) -> None:
    torch.manual_seed(seed)
    attention = SinkAttention(8, 2).double().eval()
    with torch.no_grad():
        attention.sink.normal_(std=3)
    x = torch.randn(1, 4, 8, dtype=torch.float64)
    _, weights = attention.forward_with_weights(x, x, x)
    q, k = heads(attention.q_proj(x), 2), heads(attention.k_proj(x), 2)
    exponents = (q @ k.transpose(-2, -1) / 2).exp()
    sink = attention.sink.exp()[:, None]
    torch.testing.assert_close(weights, exponents / (exponents.sum(-1) + sink)[..., None])
    torch.testing.assert_close(1 - weights.sum(-1), sink / (exponents.sum(-1) + sink))


@pytest.mark.parametrize("kind", ["bool", "additive"])
def test_a_sink_takes_all_of_a_blank_row_and_its_gradient_is_finite(kind: str) -> None:
    attention, x = stirred(SinkAttention(8, 2)), inputs()
    keep = torch.ones(5, 5, dtype=torch.bool).tril(-1)  # row 0 is blank
    mask = keep if kind == "bool" else torch.zeros(5, 5).masked_fill(~keep, float("-inf"))
    out, weights = attention.forward_with_weights(x, x, x, mask)
    assert not weights[:, :, 0].any()
    out.sum().backward()
    assert attention.sink.grad.isfinite().all()
    one_for_all = torch.ones(1, 1, dtype=torch.bool)
    torch.testing.assert_close(attention(x, x, x, one_for_all), attention(x, x, x))


def test_without_their_numbers_they_are_plain_attention() -> None:
    x, plain = inputs(), stirred(EagerAttention(8, 2))
    for attention in (
        SoftCapAttention(8, 2, cap=1e6),
        SinkAttention(8, 2),
        GroupedQueryAttention(8, 2, num_kv_heads=2),
    ):
        attention.double().eval().load_state_dict(plain.state_dict(), strict=False)
        if isinstance(attention, SinkAttention):
            attention.sink.data.fill_(-1e9)
        torch.testing.assert_close(attention(x, x, x), plain(x, x, x))


def test_a_capped_score_stays_below_the_cap() -> None:
    attention, x = stirred(SoftCapAttention(8, 2, cap=2.0)), 100 * inputs()
    _, weights = attention.forward_with_weights(x, x, x)
    ratio = weights.amax(-1) / weights.amin(-1)
    assert ratio.max() <= torch.tensor(4.0).exp() * 1.00001  # e^2 / e^-2
    q, k = heads(attention.q_proj(x), 2), heads(attention.k_proj(x), 2)
    scores = 2 * torch.tanh(q @ k.transpose(-2, -1) / 2 / 2)
    torch.testing.assert_close(weights, scores.softmax(-1))


@pytest.mark.parametrize("kind", KINDS)
def test_heads_of_another_width_share_keys_and_are_normed(kind: type[GroupedAttention]) -> None:
    attention, x = stirred(kind(9, 4, num_kv_heads=2, head_dim=6, qk_norm=True)), inputs(9)
    assert attention.q_proj.weight.shape == (24, 9)
    assert attention.k_proj.weight.shape == attention.v_proj.weight.shape == (12, 9)
    assert attention.out_proj.weight.shape == (9, 24)
    q, k, _ = attention.project(x, x, x)
    assert (q.shape[1], k.shape[1]) == (4, 2)
    for normed, gain in ((q, attention.q_norm.weight), (k, attention.k_norm.weight)):
        square = (normed / gain).square().mean(-1)
        torch.testing.assert_close(
            square, torch.ones_like(square), rtol=1e-3, atol=0
        )  # epsilon is in the root
    torch.testing.assert_close(attention.project_query(x), q)
    shown, weights = attention.forward_with_weights(x, x, x)
    torch.testing.assert_close(shown, attention(x, x, x))
    assert weights.shape == (2, 4, 5, 5)


def test_heads_of_another_width_in_a_model() -> None:
    text = "gqa:num_kv_heads=1:head_dim=6:qk_norm=true"
    sizes = {
        "d_model": 10,
        "num_heads": 4,
        "d_ff": 8,
        "src_vocab": 9,
        "tgt_vocab": 9,
        "num_decoder_layers": 1,
    }
    model: Any = build(make_blueprint(assembly="decoder", attention=text, encoding="rotary", **sizes), seed=0)
    assert model(torch.tensor([[3, 4, 5]])).shape == (1, 3, 9)
    with pytest.raises(CombinationError, match=r"multiple of 2, got 5. Use head_dim=6. \(rule head-width\)"):
        build(make_blueprint(assembly="decoder", attention="gqa:head_dim=5", encoding="rotary", **sizes))
    with pytest.raises(
        CombinationError, match="rule heads-divide-width"
    ):  # the eager cross-attention needs it
        build(make_blueprint(attention="sliding:head_dim=6", **sizes))


def test_a_cap_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"cap=0\.0: expected a positive number"):
        SoftCapAttention(8, 2, cap=0.0)


def test_the_head_can_cap_its_logits() -> None:
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 8, "src_vocab": 9, "tgt_vocab": 9, "num_decoder_layers": 1}
    tokens = torch.tensor([[3, 4, 5]])
    plain, capped = (
        build(make_blueprint(assembly="decoder", dropout=0.0, head=head, **sizes), seed=0)
        for head in ("logits", "logits:softcap=0.5")
    )
    expected: Tensor = plain(tokens)  # type: ignore[call-arg]
    torch.testing.assert_close(capped(tokens), 0.5 * (expected / 0.5).tanh())  # type: ignore[call-arg]
