"""Every attention of the live registry: closed rows, leaks, dropout and independence, by property."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from tests.together import together
from tests.zoo.parts.attention.support import (
    BATCH,
    HEADS,
    OURS,
    WIDTH,
    assert_same,
    every_attention,
    every_attention_and_form,
    every_blanking_and_form,
    every_exact,
    every_showing,
    in_form,
    keep_mask,
    make,
    make_inputs,
    run,
)
from zoo.core.registry import Variant


@every_blanking_and_form
@together("bias", [True, False])
def test_a_closed_row_has_heads_of_exactly_zero(variant: Variant, form: str, bias: bool) -> None:
    attention, inputs = make(variant, bias=bias), make_inputs(4, 5)
    if bias:
        nn.init.normal_(attention.state_dict()["out_proj.bias"])
    keep = keep_mask("closed-rows", 4, 5)
    closed = ~keep.any(-1)[:, 0]  # [B, Tq]
    assert closed.any()
    assert not closed.all()
    out, (of_query, _, _), _ = run(attention, inputs, in_form(keep, form))
    expected = attention.state_dict()["out_proj.bias"] if bias else torch.zeros(WIDTH, dtype=torch.float64)
    assert torch.equal(out[closed], expected.expand_as(out[closed]))
    assert not torch.isclose(out[~closed], expected).all(-1).any()
    assert torch.all(of_query[closed] == 0)
    choosing = keep.sum(-1)[:, 0] > 1  # with a single key, a query has nothing to say
    assert torch.all(of_query[choosing] != 0)


@every_blanking_and_form
@together("training", [True, False])
def test_a_closed_item_gets_finite_gradients_of_zero(variant: Variant, form: str, training: bool) -> None:
    attention, inputs = make(variant, dropout=0.3).train(training), make_inputs(4, 5)
    out, of_inputs, of_parameters = run(attention, inputs, in_form(keep_mask("closed-item", 4, 5), form))
    assert torch.isfinite(out).all()
    for gradient in of_inputs:
        assert torch.isfinite(gradient).all()
        assert torch.all(gradient[0] == 0)
        assert torch.any(gradient[1] != 0)
    assert all(torch.isfinite(gradient).all() for gradient in of_parameters.values())


@every_blanking_and_form
def test_a_closed_row_stays_closed_without_gradients(variant: Variant, form: str) -> None:
    """torch takes other paths, with other answers, in eval mode under no_grad."""
    attention, inputs = make(variant), make_inputs(4, 4, "self")
    mask = in_form(keep_mask("closed-rows", 4, 4), form)
    expected = attention(inputs.query, inputs.key, inputs.value, mask)
    with torch.no_grad():
        assert_same(attention.eval()(inputs.query, inputs.key, inputs.value, mask), expected)


@every_showing
def test_the_weights_of_a_closed_row_are_zero(variant: Variant) -> None:
    if not variant.capabilities["blanks_rows"]:
        pytest.skip("declares that it attends to what is hidden there")
    attention, inputs, keep = make(variant), make_inputs(4, 5), keep_mask("closed-rows", 4, 5)
    _, weights = attention.forward_with_weights(inputs.query, inputs.key, inputs.value, keep)
    assert weights.shape == (BATCH, HEADS, 4, 5)
    assert torch.all(weights.masked_select(~keep) == 0)


@every_attention_and_form
@together("size", [1e3, 1e30])
@together("kind", ["padding", "closed-rows", "closed-item"])
def test_masked_keys_do_not_leak_however_large(variant: Variant, form: str, size: float, kind: str) -> None:
    if kind != "padding" and not variant.capabilities["blanks_rows"]:
        pytest.skip("declares that a closed row attends to what is hidden")
    attention, inputs = make(variant).float(), make_inputs(4, 5)
    keep = keep_mask(kind, 4, 5) & (torch.arange(5) != 3)
    unseen = ~keep.expand(BATCH, 1, 4, 5).any(dim=-2)[:, 0, :, None]  # [B, Tk, 1]: keys that no query may see
    assert unseen.any()
    mask, generator = in_form(keep, form, torch.float32), torch.Generator().manual_seed(2)
    noise = torch.randn(inputs.key.shape, generator=generator) * size

    def results(hidden: torch.Tensor) -> object:
        query, key, value = (x.detach().float() for x in (inputs.query, inputs.key, inputs.value))
        leaves = [query, torch.where(unseen, hidden, key), torch.where(unseen, hidden, value)]
        return run(attention, type(inputs)(*(x.requires_grad_() for x in leaves)), mask)

    assert_same(results(noise), results(torch.zeros_like(noise)), tolerance=1e-5)


@every_attention
def test_under_a_causal_mask_the_future_has_no_influence(variant: Variant) -> None:
    if not variant.capabilities["causal"]:
        pytest.skip("declares that it cannot be causal")
    attention, inputs = make(variant), make_inputs(5, 5, "self")
    for t in range(5):
        mask = in_form(keep_mask("causal", 5, 5), variant.capabilities["mask_forms"][0])
        out = attention(inputs.query, inputs.query, inputs.query, mask)
        (gradient,) = torch.autograd.grad(out[:, t].sum(), inputs.query)
        assert torch.all(gradient[:, t + 1 :] == 0)
        assert torch.all(gradient[:, : t + 1].abs().sum(-1) > 0)


@every_attention
def test_items_of_a_batch_do_not_see_each_other(variant: Variant) -> None:
    attention, inputs = make(variant), make_inputs(4, 5)
    together = attention(inputs.query, inputs.key, inputs.value)
    for item in range(BATCH):
        one = slice(item, item + 1)
        assert_same(attention(inputs.query[one], inputs.key[one], inputs.value[one]), together[one])


@every_attention
def test_order_of_keys_does_not_matter_and_order_of_queries_carries_over(variant: Variant) -> None:
    attention, inputs = make(variant), make_inputs(4, 5)
    out = attention(inputs.query, inputs.key, inputs.value)
    order = torch.randperm(5)  # within the default window of sliding attention
    assert_same(attention(inputs.query, inputs.key[:, order], inputs.value[:, order]), out)
    order = torch.randperm(4)
    assert_same(attention(inputs.query[:, order], inputs.key, inputs.value), out[:, order])


@every_attention
@together("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_an_additive_mask_may_be_of_any_type(variant: Variant, dtype: torch.dtype) -> None:
    if "additive" not in variant.capabilities["mask_forms"]:
        pytest.skip("takes no additive masks")
    attention = make(variant).to(dtype).eval()
    query, key, value = (x.to(dtype) for x in make_inputs(4, 5).leaves())
    mask = torch.tensor([0.0, 0.5, float("-inf"), -2.0, 0.25]).repeat(4, 1)  # no type rounds these
    mask[1] = float("-inf")
    expected = attention(query, key, value, mask.to(dtype))
    for other in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        out = attention(query, key, value, mask.to(other))
        assert out.dtype == dtype
        assert_same(out, expected)
        if variant.capabilities["returns_weights"]:
            _, weights = attention.forward_with_weights(query, key, value, mask.to(other))
            assert weights.dtype == dtype
    with torch.no_grad():
        assert_same(
            attention(query, key, value, mask.double()), expected, tolerance=8 * torch.finfo(dtype).eps
        )
    low = torch.full((4, 5), -1e30).double()  # -inf in float16: a closed row
    assert attention(query, key, value, low).isfinite().all()


@every_attention
@together(("batch", "queries", "keys"), [(2, 0, 0), (2, 0, 3), (2, 3, 0), (0, 3, 3)])
@together("training", [True, False])
def test_what_is_empty_is_attended_to_and_from(
    variant: Variant, batch: int, queries: int, keys: int, training: bool
) -> None:
    if not keys and variant not in OURS:
        pytest.skip("a plugin's own affair")
    attention, inputs = make(variant), make_inputs(queries, keys, "cross", batch)
    nn.init.normal_(attention.state_dict()["out_proj.bias"])
    masks = [None]
    for rows in {queries, 1}:
        keep = torch.ones(batch, 1, rows, keys, dtype=torch.bool)
        masks += [in_form(keep, form) for form in variant.capabilities["mask_forms"]]
    for mask in masks:
        with torch.set_grad_enabled(training):
            out = attention(inputs.query, inputs.key, inputs.value, mask)
        assert out.shape == (batch, queries, WIDTH)
        if not keys:  # nothing to attend to, as in a closed row
            assert torch.equal(out, attention.state_dict()["out_proj.bias"].expand_as(out))
        if variant.capabilities["returns_weights"]:
            _, weights = attention.forward_with_weights(inputs.query, inputs.key, inputs.value, mask)
            assert weights.shape == (batch, HEADS, queries, keys)
        if training:
            out.sum().backward()
            assert all(p.grad is None or p.grad.isfinite().all() for p in attention.parameters())


def transparent(variant: Variant, width: int, dropout: float) -> nn.Module:
    """One head whose output, for values that are the unit vectors, is its weights after dropout."""
    attention = make(variant, width, 1, dropout)
    state = {name: torch.zeros_like(value) for name, value in attention.state_dict().items()}
    for name in ("v_proj.weight", "out_proj.weight"):
        state[name] = torch.eye(width, dtype=torch.float64)
    attention.load_state_dict(state)
    return attention  # type: ignore[no-any-return]


@every_exact
def test_dropout_falls_on_the_weights_and_nowhere_else(variant: Variant) -> None:
    width, p = 64, 0.25
    attention = transparent(variant, width, p)
    unit = torch.eye(width, dtype=torch.float64)[None]
    even = torch.full((1, width, width), 1 / width, dtype=torch.float64)
    assert_same(attention.eval()(unit, unit, unit), even)
    dropped = attention.train()(unit, unit, unit)
    zero = dropped == 0
    assert_same(dropped[~zero], even[~zero] / (1 - p), tolerance=1e-9)
    assert abs(zero.double().mean() - p) < 0.03
    rates = (
        zero[0].double().mean(0),
        zero[0].double().mean(1),
    )  # neither whole keys nor whole queries are dropped
    assert all(rate.min() > 0 and rate.max() < 1 for rate in rates)


@every_attention
def test_eval_is_deterministic_and_training_with_dropout_is_not(variant: Variant) -> None:
    attention, inputs = make(variant, dropout=0.5), make_inputs(4, 5)

    def twice() -> bool:
        return torch.equal(*(attention(inputs.query, inputs.key, inputs.value) for _ in range(2)))

    assert not twice()
    attention.eval()
    assert twice()


@every_attention
def test_dropout_leaves_the_mean_as_it_is_and_is_off_in_eval_mode(variant: Variant) -> None:
    attention, inputs = make(variant, dropout=0.3), make_inputs(3, 4, batch=1)
    if variant.name == "differential":
        attention.head_norm = nn.Identity()  # behind the dropout, and not linear
    plain = make(variant)
    plain.load_state_dict(attention.state_dict(), strict=False)
    if variant.name == "differential":
        plain.head_norm = nn.Identity()
    query, key, value = (x.detach().expand(10_000, -1, -1) for x in (inputs.query, inputs.key, inputs.value))
    expected = plain(inputs.query, inputs.key, inputs.value)
    dropped = attention.train()(query, key, value)
    assert dropped.std(0).min() > 0
    torch.testing.assert_close(dropped.mean(0), expected[0], rtol=0, atol=0.02)
    assert_same(attention.eval()(query[:1], key[:1], value[:1]), expected)
