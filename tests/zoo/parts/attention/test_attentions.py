"""Every attention of the live registry: exact ones equal the oracle, eager, with the same weights."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.together import together
from tests.zoo.parts.attention.support import (
    BATCH,
    HEADS,
    MASKS,
    OURS,
    WIDTH,
    Inputs,
    assert_same,
    every_attention,
    every_attention_and_form,
    every_exact,
    every_exact_and_form,
    every_showing,
    in_form,
    keep_mask,
    make,
    make_inputs,
    make_pair,
    run,
    takes,
)
from zoo.core.blueprint import make_blueprint
from zoo.core.registry import Variant
from zoo.models.builder import build
from zoo.parts.attention.eager import EagerAttention


@every_exact_and_form
@together("kind", MASKS)
def test_outputs_and_gradients_equal_eager(
    variant: Variant, form: str, kind: str, device: torch.device
) -> None:
    oracle, attention = make_pair(variant)
    mask = in_form(keep_mask(kind, queries=4, keys=5), form)
    inputs = make_inputs(4, 5)
    expected = run(oracle, inputs, mask)
    moved = Inputs(
        *(x.detach().to(device).requires_grad_() for x in (inputs.query, inputs.key, inputs.value))
    )
    out, of_inputs, of_parameters = run(
        attention.to(device), moved, None if mask is None else mask.to(device)
    )
    assert_same(out.cpu(), expected[0])
    assert_same([g.cpu() for g in of_inputs], expected[1])
    assert_same({name: g.cpu() for name, g in of_parameters.items()}, expected[2])


@every_exact_and_form
@together("kind", ["none", "causal", "closed-rows"])
@together(("role", "keys"), [("self", 4), ("cross", 7)])
def test_the_roles_equal_eager(variant: Variant, form: str, kind: str, role: str, keys: int) -> None:
    oracle, attention = make_pair(variant)
    inputs, mask = make_inputs(4, keys, role), in_form(keep_mask(kind, 4, keys), form)
    assert_same(run(attention, inputs, mask), run(oracle, inputs, mask))


@every_exact
@given(data=st.data())
def test_any_shape_and_mask_equals_eager(variant: Variant, data: st.DataObject) -> None:
    batch, heads, width, queries, keys = (data.draw(st.integers(1, top)) for top in (3, 4, 5, 7, 7))
    form = data.draw(st.sampled_from(variant.capabilities["mask_forms"]))
    density = data.draw(st.sampled_from([0.0, 0.2, 0.8, 1.0]))
    torch.manual_seed(data.draw(st.integers(0, 99)))
    oracle, attention = make_pair(variant, heads * width, heads)
    shape = [batch, 1, queries, keys]
    shape = [data.draw(st.sampled_from([1, size])) for size in shape]
    mask = in_form(torch.rand(*shape) < density, form)
    inputs = make_inputs(queries, keys, batch=batch, d_model=heads * width)
    assert_same(run(attention, inputs, mask), run(oracle, inputs, mask))


@every_exact_and_form
def test_rows_closed_in_some_heads_equal_eager_or_are_refused(variant: Variant, form: str) -> None:
    oracle, attention = make_pair(variant)
    keep = torch.ones(1, HEADS, 4, 5, dtype=torch.bool)
    keep[:, 0, 2] = False
    inputs, mask = make_inputs(4, 5), in_form(keep, form)
    if variant.name == "torch":
        with pytest.raises(ValueError, match=r"some heads only; use attention=eager or attention=fused"):
            attention(inputs.query, inputs.key, inputs.value, mask)
    else:
        assert_same(run(attention, inputs, mask), run(oracle, inputs, mask))


@every_exact
def test_a_finite_bias_is_added_to_the_scores(variant: Variant) -> None:
    if "additive" not in variant.capabilities["mask_forms"]:
        pytest.skip("takes no additive masks")
    oracle, attention = make_pair(variant)
    inputs = make_inputs(4, 5)
    bias = torch.randn(1, HEADS, 4, 5, dtype=torch.float64)
    bias[..., 2] = float("-inf")
    assert_same(run(attention, inputs, bias), run(oracle, inputs, bias))
    assert not torch.allclose(run(attention, inputs, bias)[0], run(attention, inputs, bias.clamp(-1e9, 0))[0])


@every_attention
@together(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.bfloat16, 0.06)])
@together("kind", ["none", "causal", "closed-rows"])
def test_other_dtypes_stay_near_float64(
    variant: Variant, dtype: torch.dtype, tolerance: float, kind: str, device: torch.device
) -> None:
    attention = make(variant, d_model=16)
    inputs = make_inputs(4, 5, d_model=16)
    mask = keep_mask(kind, 4, 5)
    expected = attention(inputs.query, inputs.key, inputs.value, mask)
    query, key, value = (x.to(device, dtype) for x in (inputs.query, inputs.key, inputs.value))
    for form in variant.capabilities["mask_forms"]:
        given_mask = in_form(mask, form, dtype)
        got = attention.to(device, dtype)(query, key, value, None if mask is None else given_mask.to(device))
        assert got.dtype == dtype
        torch.testing.assert_close(got.cpu().double(), expected, rtol=tolerance, atol=tolerance)


def test_eager_is_the_formula() -> None:
    attention = EagerAttention(WIDTH, HEADS).double()
    inputs, keep = make_inputs(4, 5), keep_mask("per-head", 4, 5)
    q, k, v = (
        projection(x)
        for projection, x in zip(
            (attention.q_proj, attention.k_proj, attention.v_proj),
            (inputs.query, inputs.key, inputs.value),
            strict=True,
        )
    )
    heads, d = [], WIDTH // HEADS
    for h in range(HEADS):
        columns = slice(h * d, (h + 1) * d)
        scores = q[..., columns] @ k[..., columns].mT / d**0.5
        weights = scores.masked_fill(~keep[:, h], float("-inf")).softmax(-1)
        heads.append(weights @ v[..., columns])
    expected = torch.cat(heads, -1) @ attention.out_proj.weight.T + attention.out_proj.bias
    assert_same(attention(inputs.query, inputs.key, inputs.value, keep), expected)


def test_eager_equals_torchs_own_module() -> None:
    theirs = torch.nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, dtype=torch.float64)
    torch.nn.init.normal_(theirs.in_proj_bias)
    ours = EagerAttention(WIDTH, HEADS).double()
    q, k, v = theirs.in_proj_weight.chunk(3)
    q_bias, k_bias, v_bias = theirs.in_proj_bias.chunk(3)
    ours.load_state_dict(
        {
            "q_proj.weight": q,
            "k_proj.weight": k,
            "v_proj.weight": v,
            "q_proj.bias": q_bias,
            "k_proj.bias": k_bias,
            "v_proj.bias": v_bias,
            **{f"out_proj.{name}": value for name, value in theirs.out_proj.state_dict().items()},
        }
    )
    inputs, keep = make_inputs(4, 5), keep_mask("two-dimensional", 4, 5)
    expected, weights = theirs(
        inputs.query, inputs.key, inputs.value, attn_mask=~keep, average_attn_weights=False
    )
    out, ours_weights = ours.forward_with_weights(inputs.query, inputs.key, inputs.value, keep)
    assert_same(out, expected)
    assert_same(ours_weights, weights)


@every_showing
@together("kind", MASKS)
def test_the_weights_shown_are_those_used(variant: Variant, kind: str) -> None:
    if not takes(variant, kind):
        pytest.skip("refuses masks that differ between heads")
    attention, inputs, keep = make(variant), make_inputs(4, 5), keep_mask(kind, 4, 5)
    out, weights = attention.forward_with_weights(inputs.query, inputs.key, inputs.value, keep)
    assert weights.shape == (BATCH, HEADS, 4, 5)
    assert_same(out, attention(inputs.query, inputs.key, inputs.value, keep))
    if variant.capabilities["blanks_rows"]:
        allowed = torch.ones_like(weights, dtype=torch.bool) if keep is None else keep.expand_as(weights)
        assert torch.all(weights[~allowed] == 0)
        assert torch.all(weights[allowed] != 0)
    else:
        allowed = torch.ones_like(weights, dtype=torch.bool)
    if variant in OURS and variant.name not in (
        "differential",
        "sinks",
    ):  # whose rows sum to 1 - lambda, or to less than 1
        assert_same(weights.sum(-1), allowed.any(-1).double())


@every_showing
@together("kind", ["none", "causal", "closed-rows"])
def test_weights_of_exact_attentions_are_those_of_eager(variant: Variant, kind: str) -> None:
    if not variant.capabilities["exact"]:
        pytest.skip("has weights of its own")
    oracle, attention = make_pair(variant)
    inputs, keep = make_inputs(4, 5), keep_mask(kind, 4, 5)
    _, weights = attention.forward_with_weights(inputs.query, inputs.key, inputs.value, keep)
    assert_same(weights, oracle.forward_with_weights(inputs.query, inputs.key, inputs.value, keep)[1])


@every_attention
@together("bias", [True, False])
def test_state_dict_has_the_canonical_names(variant: Variant, bias: bool) -> None:
    kinds = ("weight", "bias") if bias else ("weight",)
    canonical = {f"{letter}_proj.{kind}" for letter in ("q", "k", "v", "out") for kind in kinds}
    state = make(variant, bias=bias).state_dict()
    more = {f"gate_proj.{kind}" for kind in kinds} if variant.name == "gated" else set()
    assert {name for name in state if "_proj" in name} == canonical | more
    for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
        assert state[f"{name}.weight"].size(1) == WIDTH
        assert not bias or state[f"{name}.bias"].size(0) == state[f"{name}.weight"].size(0)
    for name in ("q_proj", "out_proj"):
        assert state[f"{name}.weight"].size(0) == WIDTH
    if variant.capabilities["exact"]:
        assert state.keys() == canonical
        assert state["k_proj.weight"].size(0) == state["v_proj.weight"].size(0) == WIDTH


@every_exact
def test_without_bias_it_equals_eager(variant: Variant) -> None:
    oracle, attention = make_pair(variant, bias=False)
    for role, keys in (("self", 4), ("cross", 5), ("separate", 5)):
        inputs, mask = make_inputs(4, keys, role), keep_mask("closed-rows", 4, keys)
        assert_same(run(attention, inputs, mask), run(oracle, inputs, mask))


@every_attention
def test_weights_survive_saving_and_loading(variant: Variant) -> None:
    first, second = make(variant), make(variant)
    inputs = make_inputs(3, 3)
    second.load_state_dict(first.state_dict())
    assert torch.equal(run(second, inputs, None)[0], run(first, inputs, None)[0])
    assert all(torch.equal(value, second.state_dict()[name]) for name, value in first.state_dict().items())


@every_exact
def test_a_seed_gives_the_same_weights_whichever_attention_holds_them(variant: Variant) -> None:
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 8, "num_encoder_layers": 1, "num_decoder_layers": 2}
    expected = build(make_blueprint(attention="eager", **sizes), seed=3).state_dict()
    got = build(make_blueprint(attention=variant.name, **sizes), seed=3).state_dict()
    assert got.keys() == expected.keys()
    assert all(torch.equal(got[name], expected[name]) for name in expected)


@every_attention
@together("heads", [0, 4, 7, -1])
def test_heads_that_do_not_divide_the_width_are_refused(variant: Variant, heads: int) -> None:
    with pytest.raises(ValueError, match=f"d_model=6 is not divisible by num_heads={heads}"):
        variant.load()(6, heads)


@every_attention
def test_inputs_are_not_changed(variant: Variant) -> None:
    attention, inputs = make(variant), make_inputs(4, 5)
    mask = keep_mask("closed-rows", 4, 5)
    copies = [x.detach().clone() for x in (inputs.query, inputs.key, inputs.value, mask)]
    run(attention, inputs, mask)
    for now, before in zip((inputs.query, inputs.key, inputs.value, mask), copies, strict=True):
        assert torch.equal(now, before)


@every_attention
def test_length_one_and_batch_one(variant: Variant) -> None:
    attention, inputs = make(variant), make_inputs(1, 1, batch=1)
    alone = attention(inputs.query, inputs.key, inputs.value)
    assert alone.shape == (1, 1, WIDTH)
    assert torch.isfinite(alone).all()
    assert_same(attention(inputs.query, inputs.key, inputs.value, torch.ones(1, 1, dtype=torch.bool)), alone)


@every_attention
def test_the_forms_of_a_mask_mean_the_same(variant: Variant) -> None:
    attention, inputs = make(variant), make_inputs(4, 5)
    for kind in MASKS[1:]:
        if takes(variant, kind):
            keep = keep_mask(kind, 4, 5)
            results = [
                run(attention, inputs, in_form(keep, form)) for form in variant.capabilities["mask_forms"]
            ]
            for other in results[1:]:
                assert_same(other, results[0])


@every_attention_and_form
@together("kind", MASKS)
@together("training", [True, False])
def test_gradients_are_finite_and_reach_everything(
    variant: Variant, form: str, kind: str, training: bool
) -> None:
    if not takes(variant, kind):
        pytest.skip("refuses masks that differ between heads")
    attention, inputs = make(variant, dropout=0.2).train(training), make_inputs(4, 5)
    out, of_inputs, of_parameters = run(attention, inputs, in_form(keep_mask(kind, 4, 5), form))
    assert torch.isfinite(out).all()
    for gradient in of_inputs:
        assert torch.isfinite(gradient).all()
    for name, gradient in of_parameters.items():
        assert torch.isfinite(gradient).all(), name
        no_effect = name == "k_proj.bias" and variant.name not in ("linear", "qknorm", "additive")
        if (
            kind != "all-closed" and not no_effect
        ):  # a bias of the keys moves all scores of a softmax's row alike
            assert torch.any(gradient != 0), name
