"""Grouped and multi-query attention: multi-head attention in which key and value heads are shared."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.zoo.parts.attention.support import assert_same, in_form, keep_mask, make_inputs, run
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import CombinationError
from zoo.models.builder import build
from zoo.parts.attention.cache import KeyValueCache
from zoo.parts.attention.eager import EagerAttention
from zoo.parts.attention.gqa import GroupedQueryAttention
from zoo.parts.attention.mqa import MultiQueryAttention


def repeated(value: Tensor, groups: int, times: int) -> Tensor:
    """Rows of `groups` heads, each head's `times` over: [Hk*d, ..] -> [H*d, ..]."""
    return torch.cat([head for head in value.chunk(groups) for _ in range(times)])


def eager_twin(attention: GroupedQueryAttention, d_model: int, heads: int, bias: bool) -> EagerAttention:
    """Multi-head attention whose key and value heads are those of `attention`, repeated."""
    shared = attention.num_kv_heads
    state = {
        name: repeated(value, shared, heads // shared) if name.startswith(("k_", "v_")) else value
        for name, value in attention.state_dict().items()
    }
    twin = EagerAttention(d_model, heads, bias=bias).double()
    twin.load_state_dict(state)
    return twin


@given(data=st.data())
def test_it_equals_eager_with_repeated_key_and_value_heads(data: st.DataObject) -> None:
    shared, times, width = (data.draw(st.integers(1, top)) for top in (3, 3, 4))
    heads, d_model = shared * times, shared * times * width
    torch.manual_seed(data.draw(st.integers(0, 99)))
    bias, role = data.draw(st.booleans()), data.draw(st.sampled_from(["self", "cross", "separate"]))
    queries = data.draw(st.integers(1, 6))
    keys = queries if role == "self" else data.draw(st.integers(1, 6))
    attention = GroupedQueryAttention(d_model, heads, bias=bias, num_kv_heads=shared).double()
    twin = eager_twin(attention, d_model, heads, bias)
    inputs = make_inputs(queries, keys, role, d_model=d_model)
    kind = data.draw(st.sampled_from(["none", "causal", "per-item-and-head", "closed-rows", "one-query"]))
    mask = in_form(
        keep_mask(kind, queries, keys, heads=heads), data.draw(st.sampled_from(["bool", "additive"]))
    )
    out, of_inputs, of_parameters = run(attention, inputs, mask)
    expected, of_expected, _ = run(twin, inputs, mask)
    assert_same(out, expected)
    assert_same(of_inputs, of_expected)
    assert of_parameters["k_proj.weight"].shape == (shared * width, d_model)
    shown = attention.forward_with_weights(inputs.query, inputs.key, inputs.value, mask)
    twins = twin.forward_with_weights(inputs.query, inputs.key, inputs.value, mask)
    assert_same(shown, twins)


def test_with_as_many_key_heads_it_has_eagers_weights() -> None:
    eager = EagerAttention(8, 4).double()
    attention = GroupedQueryAttention(8, 4, num_kv_heads=4).double()
    attention.load_state_dict(eager.state_dict())
    inputs, mask = make_inputs(5, 5, "self"), keep_mask("closed-rows", 5, 5)
    assert_same(run(attention, inputs, mask), run(eager, inputs, mask))


def test_dropout_falls_on_the_weights_of_each_query_head() -> None:
    """Heads of a group share keys and values, and yet drop other weights."""
    attention = GroupedQueryAttention(8, 4, dropout=0.5, num_kv_heads=2).double()
    twin = eager_twin(attention, 8, 4, bias=True)
    x = make_inputs(3, 3, "self", batch=1).query.detach().expand(4000, -1, -1)
    mean = attention(x, x, x).mean(0)
    torch.testing.assert_close(mean, twin(x[:1], x[:1], x[:1])[0], rtol=0, atol=0.03)
    q, k, v, _ = attention.prepare(x, x, x, None)
    heads, _ = attention.attend(q[:, :1].expand_as(q), k, v, None)
    assert not torch.allclose(heads[:, 0], heads[:, 1])


@pytest.mark.parametrize(
    ("heads", "shared"), [(1, 1), (2, 1), (4, 1), (6, 1), (8, 2), (12, 3), (16, 4), (20, 5), (28, 7), (22, 2)]
)
def test_by_default_about_a_quarter_of_the_heads_has_keys(heads: int, shared: int) -> None:
    attention = GroupedQueryAttention(2 * heads, heads)
    assert attention.num_kv_heads == shared
    assert attention.state_dict()["v_proj.weight"].shape == (2 * shared, 2 * heads)


@pytest.mark.parametrize("shared", [3, 0, -1, 8])
def test_key_heads_that_do_not_divide_the_heads_are_refused(shared: int) -> None:
    with pytest.raises(ValueError, match=f"num_heads=4 is not divisible by num_kv_heads={shared}"):
        GroupedQueryAttention(8, 4, num_kv_heads=shared)


def test_the_builder_names_the_rule() -> None:
    with pytest.raises(CombinationError, match=r"Use num_kv_heads 1 or 2 or 4. \(rule kv-heads\)"):
        build(make_blueprint(attention="gqa:num_kv_heads=3", num_heads=4, d_model=16))


def test_multi_query_is_one_group() -> None:
    attention, grouped = (
        MultiQueryAttention(8, 4).double(),
        GroupedQueryAttention(8, 4, num_kv_heads=1).double(),
    )
    grouped.load_state_dict(attention.state_dict())
    assert attention.state_dict()["k_proj.weight"].shape == (2, 8)
    inputs = make_inputs(4, 5)
    assert_same(run(attention, inputs, None), run(grouped, inputs, None))


def test_a_cache_holds_the_shared_heads_only() -> None:
    attention, cache = GroupedQueryAttention(16, 8, num_kv_heads=2), KeyValueCache(grows=True)
    x = torch.randn(3, 4, 16)
    attention(x, x, x, None, cache=cache)
    assert [part.shape for part in cache.held()] == [(3, 2, 4, 2)] * 2
