"""Every attention that declares it: with cached keys and values it is what it is without."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.zoo.parts.attention.support import (
    ATTENTIONS,
    BATCH,
    HEADS,
    WIDTH,
    assert_same,
    in_form,
    keep_mask,
    make,
    make_inputs,
)
from zoo.core.registry import Variant
from zoo.parts.attention import sliding
from zoo.parts.attention.base import MultiHeadAttention
from zoo.parts.attention.cache import FIRST, KeyValueCache
from zoo.parts.encoding.base import Positions
from zoo.parts.masking.base import causal_keep

LENGTH = 7
CACHEABLE = [v for v in ATTENTIONS if v.capabilities["cacheable"]]
cacheable = pytest.mark.parametrize("variant", CACHEABLE, ids=lambda v: v.name)
step_by_step = pytest.mark.parametrize(  # flex traces its mask function at every step
    "variant", [pytest.param(v, id=v.name, marks=[pytest.mark.slow] * (v.name == "flex")) for v in CACHEABLE]
)
SMALL = {"sliding": {"window": 2}, "chunked": {"chunk": 2}, "gqa": {"num_kv_heads": 2}}
"""Options with which a short sequence shows what they do."""


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sliding, "LEAST_BLOCK", 2)


class Inside(Positions):
    """Turns pairs of features by their position, and takes the distance from the scores, as declared."""

    def __init__(self, acts: tuple[str, ...], queries: int, keys: int) -> None:
        self.acts, self.queries, self.keys = acts, queries, keys

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        if "queries-keys" not in self.acts:
            return q, k
        at = torch.arange(self.keys - self.queries, self.keys, dtype=q.dtype)
        angle = at[:, None] * 0.5 ** torch.arange(q.size(-1) // 2)  # [Tq, d/2]
        turn = torch.polar(torch.ones_like(angle), angle)
        q, k = (torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) for x in (q, k))
        return torch.view_as_real(q * turn).flatten(-2), torch.view_as_real(k * turn).flatten(-2)

    def bias(self, q: Tensor) -> Tensor | None:
        if "scores" not in self.acts:
            return None
        i, j = torch.arange(self.keys - self.queries, self.keys), torch.arange(self.keys)
        slope = torch.tensor([0.5, 0.25], dtype=q.dtype)[:, None, None]
        return -slope * (i[:, None] - j).abs()  # [H, Tq, Tk]


def stepwise(attention: Any, x: Tensor, steps: list[int], form: str, acts: tuple[str, ...]) -> Tensor:
    """Output for x [B, T, D], so many positions at a time, with a cache, under the causal mask."""
    cache, found, start = KeyValueCache(grows=True), [], 0
    for step in steps:
        new = x[:, start : start + step]
        start += step
        mask = in_form(causal_keep(step, start), form)
        positions = Inside(acts, step, start) if acts else None
        found.append(attention(new, new, new, mask, positions=positions, cache=cache))
    return torch.cat(found, dim=1)


@step_by_step
@pytest.mark.parametrize("inside", [True, False], ids=["positions", "plain"])
@pytest.mark.parametrize("training", [True, False], ids=["grad", "no-grad"])
def test_prefill_and_token_by_token_is_the_whole_at_once(
    variant: Variant, inside: bool, training: bool
) -> None:
    acts = variant.capabilities["positions"] if inside else ()
    heads = 4 if variant.name == "gqa" and not inside else HEADS
    attention = make(variant, heads=heads, **SMALL.get(variant.name, {}))
    x = make_inputs(LENGTH, LENGTH, "self").query
    with torch.set_grad_enabled(training):
        for form in variant.capabilities["mask_forms"]:
            positions = Inside(acts, LENGTH, LENGTH) if acts else None
            whole = attention(x, x, x, in_form(causal_keep(LENGTH, LENGTH), form), positions=positions)
            for steps in ([1] * LENGTH, [3, 1, 1, 2], [LENGTH]):
                assert_same(stepwise(attention, x, steps, form, acts), whole)


def test_a_cache_grows_and_loses_nothing() -> None:
    """Past its first buffer and its second, by one position and by several."""
    keys, values = torch.randn(2, 3, 2, 3 * FIRST, 4)  # 2 x [B, H, T, d]
    for step in (1, 3, FIRST + 1):
        cache = KeyValueCache(grows=True)
        for start in range(0, 3 * FIRST, step):
            got = cache.append(keys[:, :, start : start + step], values[:, :, start : start + step])
        assert torch.equal(got[0], keys)
        assert torch.equal(got[1], values)


@cacheable
def test_padding_is_hidden_among_cached_keys_too(variant: Variant) -> None:
    attention, x = make(variant, **SMALL.get(variant.name, {})), make_inputs(4, 4, "self").query
    padding = (torch.arange(4) != 1).expand(BATCH, 1, 1, 4)  # in the middle
    whole = attention(x, x, x, padding & causal_keep(4, 4))
    cache = KeyValueCache(grows=True)
    for t in range(4):
        new = x[:, t : t + 1]
        out = attention(new, new, new, padding[..., : t + 1], cache=cache)
        assert_same(out, whole[:, t : t + 1])


@cacheable
def test_a_complete_cache_stands_in_for_the_memory(variant: Variant) -> None:
    if "cross" not in variant.capabilities["roles"]:
        pytest.skip("another takes its place in cross-attention")
    attention, inputs = make(variant), make_inputs(4, 5, "cross")
    keep = keep_mask("padding", 4, 5)
    whole = attention(inputs.query, inputs.key, inputs.value, keep)
    cache, nothing = KeyValueCache(grows=False), inputs.key.new_full(inputs.key.shape, float("nan"))
    found = [attention(inputs.query[:, :1], inputs.key, inputs.value, keep, cache=cache)]
    found += [attention(inputs.query[:, t : t + 1], nothing, nothing, keep, cache=cache) for t in range(1, 4)]
    assert_same(torch.cat(found, dim=1), whole)


@cacheable
def test_rows_of_a_cache_can_be_chosen_and_repeated(variant: Variant) -> None:
    attention, x = make(variant), make_inputs(4, 4, "self").query
    rows, cache = torch.tensor([2, 0, 0, 1]), KeyValueCache(grows=True)
    attention(
        x[:, :3],
        x[:, :3],
        x[:, :3],
        in_form(causal_keep(3, 3), variant.capabilities["mask_forms"][0]),
        cache=cache,
    )
    cache.select(rows)
    last, chosen = x[rows, 3:], x[rows]
    expected = attention(last, chosen, chosen)
    assert_same(attention(last, last, last, None, cache=cache), expected)


ACTING = [(v, act) for v in ATTENTIONS for act in v.capabilities["positions"]]


@pytest.mark.parametrize(
    ("variant", "act"), ACTING, ids=lambda one: one if isinstance(one, str) else one.name
)
def test_positions_inside_the_attention_are_relative(variant: Variant, act: str) -> None:
    """Moved by three places, it is the same; without positions, it is not."""
    attention, x = make(variant, WIDTH), make_inputs(4, 4, "self").query
    assert isinstance(attention, MultiHeadAttention)
    out = attention(x, x, x, positions=Inside((act,), 4, 4))

    class Moved(Inside):
        def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
            self.keys += 3
            try:
                return super().rotate(q, k)
            finally:
                self.keys -= 3

    assert_same(attention(x, x, x, positions=Moved((act,), 4, 4)), out)
    assert not torch.allclose(out, attention(x, x, x))


@pytest.mark.parametrize(
    "variant", [v for v in ATTENTIONS if "scores" in v.capabilities["positions"]], ids=lambda v: v.name
)
def test_a_bias_of_positions_is_added_to_the_scores(variant: Variant) -> None:
    attention, x = make(variant), make_inputs(4, 4, "self").query
    positions = Inside(("scores",), 4, 4)
    bias = positions.bias(x)
    assert bias is not None
    assert_same(attention(x, x, x, positions=positions), attention(x, x, x, bias))
    masked = torch.where(causal_keep(4, 4), bias, float("-inf"))
    for form in variant.capabilities["mask_forms"]:
        mask = in_form(causal_keep(4, 4), form)
        assert_same(attention(x, x, x, mask, positions=positions), attention(x, x, x, masked))
