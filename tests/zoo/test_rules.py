"""The rules of combination: each broken once, and every pair of variants that keeps them."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
import torch

from zoo.axes import AXES
from zoo.blueprint import make_blueprint
from zoo.builder import build
from zoo.errors import CombinationError
from zoo.plugins import get_registry
from zoo.registry import Registry, Variant
from zoo.rules import RULES, check, problems

TINY = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 9,
}  # fmt: skip


def registry_with(**capabilities: Any) -> Registry:
    """The built-in variants, and an attention `odd` that declares these capabilities."""
    registry = Registry(AXES)
    for variant in get_registry().variants():
        registry.add(variant, variant.origin)
    registry.add(
        Variant("attention", "odd", "zoo.attention.eager:EagerAttention", "", capabilities=capabilities)
    )
    return registry


BROKEN: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "heads-divide-width": (
        {"d_model": 10, "num_heads": 3},
        {},
        "d_model=10 is not divisible by num_heads=3. Take num_heads 1 or 2 or 5, or d_model 9 or 12.",
    ),
    "one-vocabulary": (
        {"embedding": "shared", "src_vocab": 5, "tgt_vocab": 6},
        {},
        "embedding=shared keeps one table for both sides, but src_vocab=5 and tgt_vocab=6. Make them equal, or take "
        "embedding=scaled or embedding=unscaled.",
    ),
    "mask-form": (
        {"attention": "odd"},
        {"mask_forms": ("lengths",)},
        "attention=odd takes masks as lengths, and the zoo has no such mask to convert mask=bool to.",
    ),
    "roles": (
        {"attention": "odd"},
        {"roles": ("self",)},
        "attention=odd cannot be used for cross-attention. attention=eager can.",
    ),
    "length": (
        {"attention": "odd", "max_len": 100},
        {"max_length": 64},
        "attention=odd takes at most 64 positions, but max_len=100. Take max_len=64 or less.",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_says_why_and_what_would_work(name: str) -> None:
    given, capabilities, message = BROKEN[name]
    registry = registry_with(**capabilities)
    blueprint = make_blueprint(registry, **given)
    assert list(problems(blueprint, registry)) == [name]
    with pytest.raises(CombinationError) as caught:
        build(blueprint, registry=registry)
    assert message in str(caught.value)
    assert f"(rule {name})" in str(caught.value)


def test_every_rule_is_tested() -> None:
    assert [rule.__name__.replace("_", "-") for rule in RULES] == list(BROKEN)
    assert all(rule.__doc__ for rule in RULES)


def test_an_attention_that_is_not_causal_is_refused() -> None:
    registry = registry_with(causal=False)
    assert (
        "cannot honour the causal mask"
        in problems(make_blueprint(registry, attention="odd"), registry)["roles"]
    )


def test_all_broken_rules_are_told_at_once() -> None:
    blueprint = make_blueprint(d_model=10, num_heads=3, embedding="shared", src_vocab=5, tgt_vocab=6)
    with pytest.raises(CombinationError) as caught:
        check(blueprint, get_registry())
    assert len(str(caught.value).splitlines()) == 2


@pytest.mark.parametrize(
    ("width", "heads", "advice"),
    [
        (7, 2, "Take num_heads 1 or 7, or d_model 6 or 8."),
        (4, 8, "Take num_heads 1 or 2 or 4, or d_model 8."),
        (10**15, 3, "Take num_heads 1 or 2 or 4, or d_model"),
    ],
)
def test_the_advice_on_heads_works(width: int, heads: int, advice: str) -> None:
    blueprint = make_blueprint(d_model=width, num_heads=heads)
    assert advice in problems(blueprint, get_registry())["heads-divide-width"]


def test_good_combinations_break_no_rule() -> None:
    assert problems(make_blueprint(), get_registry()) == {}
    check(make_blueprint(embedding="shared", src_vocab=6, tgt_vocab=6), get_registry())


PAIRS = [
    {first.axis: first.name, second.axis: second.name}
    for first, second in combinations(get_registry().variants(), 2)
    if first.axis != second.axis
]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: "-".join(pair.values()))
def test_every_pair_builds_and_trains(pair: dict[str, str]) -> None:
    blueprint = make_blueprint(**pair, **TINY)
    if problems(blueprint, get_registry()):
        with pytest.raises(CombinationError):
            build(blueprint)
        return
    model = build(blueprint, seed=0)
    src, tgt = torch.tensor([[3, 4, 5], [6, 7, 0]]), torch.tensor([[1, 8, 9, 2], [1, 5, 0, 0]])
    logits = model(src, tgt)
    assert logits.shape == (2, 4, 11)
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), tgt.flatten(), ignore_index=0).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any() or "k_proj.bias" in name, name
