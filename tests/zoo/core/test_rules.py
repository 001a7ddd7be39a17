"""The rules of combination: each broken once, with a way out that works."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from zoo.core.axes import AXES
from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.core.errors import CombinationError
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.registry import Option, Registry, Variant
from zoo.core.rules import RULES, check, problems
from zoo.models.builder import build

CLASSES = {
    "attention": "zoo.parts.attention.eager:EagerAttention",
    "encoding": "zoo.parts.encoding.none:NoPositions",
    "loss": "zoo.parts.loss.cross_entropy:CrossEntropyLoss",
    "masking": "zoo.parts.masking.full:FullMasking",
}


def registry_with(axis: str = "attention", *options: Option, **capabilities: Any) -> Registry:
    """The built-in variants, and one more of `axis`, called odd, that declares these capabilities."""
    registry = Registry(AXES)
    for variant in get_registry().variants():
        registry.add(variant, variant.origin)
    registry.add(Variant(axis, "odd", CLASSES[axis], "", options=options, capabilities=capabilities))
    return registry


class Broken(NamedTuple):
    """A combination that breaks a rule, what is said about it, and a change that mends it."""

    given: dict[str, Any]
    message: str
    fixed: dict[str, Any]
    registry: Registry = get_registry()


KV_HEADS = Option("num_kv_heads", int, None, "key and value heads", minimum=1)
BROKEN = {
    "heads-divide-width": Broken(
        {"d_model": 10, "num_heads": 3},
        "d_model=10 is not divisible by num_heads=3. Use num_heads 1 or 2 or 5, or d_model 9 or 12.",
        {"num_heads": 5},
    ),
    "head-width": Broken(
        {"encoding": "odd", "d_model": 12, "num_heads": 2},
        "encoding=odd needs a head_dim that is a multiple of 4, but d_model=12 over num_heads=2 makes 6. "
        "Use d_model=16.",
        {"d_model": 16},
        registry_with("encoding", head_multiple=4),
    ),
    "kv-heads": Broken(
        {"attention": "odd:num_kv_heads=3", "num_heads": 4, "d_model": 16},
        "num_heads=4 is not divisible by num_kv_heads=3. Use num_kv_heads 1 or 2 or 4.",
        {"attention": "odd:num_kv_heads=2"},
        registry_with("attention", KV_HEADS),
    ),
    "one-vocabulary": Broken(
        {"embedding": "shared", "src_vocab": 5, "tgt_vocab": 6},
        "embedding=shared keeps one table for both sides, but src_vocab=5 and tgt_vocab=6. Make them equal, or use "
        "embedding=scaled or embedding=unscaled.",
        {"embedding": "scaled"},
    ),
    "mask-form": Broken(
        {"attention": "odd"},
        "attention=odd takes masks as runes, to which mask=bool cannot be converted (see `zoo list mask`).",
        {"attention": "eager"},
        registry_with(mask_forms=("runes",)),
    ),
    "roles": Broken(
        {"attention": "odd"},
        "attention=odd cannot be used for cross-attention. attention=eager can.",
        {"attention": "eager"},
        registry_with(roles=("self",)),
    ),
    "causal-mask": Broken(
        {"masking": "odd"},
        "masking=odd does not hide later positions, so the decoder would see the tokens that it is to predict. Use "
        "masking=full, or assembly=encoder, which has no decoder.",
        {"assembly": "encoder"},
        registry_with("masking", causal=False),
    ),
    "positions": Broken(
        {"encoding": "odd", "attention": "torch"},
        "encoding=odd acts on scores inside self-attention, which attention=torch does not support. Use "
        "attention=eager, or encoding=sinusoidal, which acts on the embedding.",
        {"attention": "eager"},
        registry_with("encoding", acts_on="scores"),
    ),
    "loss-and-head": Broken(
        {"loss": "odd"},
        "loss=odd takes log-probs, but head=logits gives logits: the loss is unbounded below, so nothing "
        "would be learned. Use head=log-softmax or loss=cross-entropy.",
        {"head": "log-softmax"},
        registry_with("loss", takes="log-probs"),
    ),
    "length": Broken(
        {"attention": "odd", "max_len": 100},
        "attention=odd takes at most 64 positions, but max_len=100. Use max_len=64 or less.",
        {"max_len": 64},
        registry_with(max_length=64),
    ),
    "tied-table": Broken(
        {"embedding": "tied", "assembly": "encoder"},
        "embedding=tied shares the target's table with the head, and assembly=encoder has no target side. Use "
        "embedding=three-way, whose one table is the source's too.",
        {"embedding": "three-way"},
    ),
    "unused-decoding": Broken(
        {"decoding": "beam", "assembly": "encoder"},
        "assembly=encoder generates nothing, so decoding=beam would have no use. Use decoding=greedy, the default, or "
        "assembly=decoder or assembly=encoder-decoder, which generate.",
        {"assembly": "decoder"},
    ),
    "pattern-length": Broken(
        {"attention": "sliding*6+eager"},
        "attention has a choice for each of 7 layers, which is repeated, but the encoder has only 6. Use "
        "num_encoder_layers=7 or more, or choices for at most 6 layers.",
        {"attention": "sliding*5+eager"},
    ),
    "encoding-per-layer": Broken(
        {"encoding": "rotary+sinusoidal"},
        "encoding=sinusoidal acts on the embedding, once for all layers, so that layers cannot differ in it. Use "
        "encoding=sinusoidal for all layers, or per layer none, rotary, alibi, t5, shaw.",
        {"encoding": "rotary*2+none"},
    ),
    "patches": Broken(
        {"assembly": "vision:image_size=30:patch_size=8"},
        "image_size=30 is not divisible by patch_size=8. Use image_size=24 or 32, or patch_size=5 or 6 or 10.",
        {"assembly": "vision:image_size=32:patch_size=8"},
    ),
    "unused-by-images": Broken(
        {"assembly": "vision", "masking": "causal-only"},
        "assembly=vision reads images, so masking=causal-only would have no use. Use masking=full, the default, or "
        "assembly=encoder, which reads tokens.",
        {"assembly": "encoder"},
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_says_why_and_what_would_work(name: str) -> None:
    given, message, fixed, registry = BROKEN[name]
    blueprint = make_blueprint(registry, **given)
    assert list(problems(make_plan(blueprint, registry))) == [name]
    with pytest.raises(CombinationError) as caught:
        build(blueprint, registry=registry)
    assert message in str(caught.value)
    assert f"(rule {name})" in str(caught.value)
    assert problems(make_plan(make_blueprint(registry, **{**given, **fixed}), registry)) == {}


def test_every_rule_is_tested() -> None:
    assert [rule.__name__.replace("_", "-") for rule in RULES] == list(BROKEN)
    assert all(rule.__doc__ for rule in RULES)


@pytest.mark.parametrize("place", ["queries-keys", "scores"])
def test_an_encoding_needs_an_attention_that_lets_it_act_there(place: str) -> None:
    registry = registry_with("encoding", acts_on=place)
    for attention, names in (("eager", []), ("torch", ["positions"])):
        blueprint = make_blueprint(registry, encoding="odd", attention=attention)
        assert list(problems(make_plan(blueprint, registry))) == names


def test_an_attention_that_is_not_causal_is_refused() -> None:
    registry = registry_with(causal=False)
    blueprint = make_blueprint(registry, attention="odd")
    assert "cannot honour the causal mask" in problems(make_plan(blueprint, registry))["roles"]


@pytest.mark.parametrize("assembly", ["decoder", "encoder"])
def test_a_model_of_one_stack_needs_no_cross_attention(assembly: str) -> None:
    registry = registry_with(roles=("self",))
    blueprint = make_blueprint(registry, attention="odd", assembly=assembly)
    assert problems(make_plan(blueprint, registry)) == {}


def test_an_encoder_takes_an_attention_that_is_not_causal() -> None:
    registry = registry_with(causal=False)
    for assembly, names in (("encoder", []), ("decoder", ["roles"])):
        blueprint = make_blueprint(registry, attention="odd", assembly=assembly)
        assert list(problems(make_plan(blueprint, registry))) == names


@pytest.mark.parametrize(
    ("assembly", "embedding", "names"),
    [
        ("decoder", "three-way", []),
        ("decoder", "shared", []),
        ("encoder", "shared", []),
        ("encoder", "three-way", ["one-vocabulary"]),
    ],
)
def test_one_side_has_one_vocabulary(assembly: str, embedding: str, names: list[str]) -> None:
    """But for an encoder whose head shares the table of its source."""
    blueprint = make_blueprint(assembly=assembly, embedding=embedding, src_vocab=5, tgt_vocab=6)
    assert list(problems(make_plan(blueprint))) == names


def test_an_attention_for_one_side_takes_a_stand_in_for_the_other() -> None:
    registry = registry_with("attention", roles=("self",), cross="fused")
    blueprint = make_blueprint(registry, attention="odd")
    assert problems(make_plan(blueprint, registry)) == {}
    cross = make_plan(blueprint, registry).cross
    assert (cross.variant, cross.options) == (registry.get("attention", "fused"), {})
    layer = build(blueprint.with_sizes(d_model=8, num_heads=2), registry=registry).decoder.layers[0]
    names = [type(part).__name__ for part in (layer.self_attention, layer.cross_attention)]
    assert names == ["EagerAttention", "FusedAttention"]


def test_a_stand_in_is_given_the_options_it_knows() -> None:
    bias = Option("bias", bool, True, "")
    registry = registry_with("attention", bias, KV_HEADS, roles=("self",), cross="loop")
    blueprint = make_blueprint(registry, attention="odd:bias=false:num_kv_heads=2", d_model=8, num_heads=2)
    assert make_plan(blueprint, registry).cross.options == {"bias": False}


@pytest.mark.parametrize("axis", ["attention", "encoding"])
def test_one_part_that_cannot_work_with_a_cache_is_enough(axis: str) -> None:
    def works(registry: Registry) -> bool:
        return make_plan(make_blueprint(registry, **{axis: "odd"}), registry).cacheable

    assert works(registry_with(axis, cacheable=True))
    assert not works(registry_with(axis, cacheable=False))


def test_a_row_that_is_filled_whole_is_not_cached() -> None:
    filled = {"attention": "filled", "masking": "blank-rows"}
    assert not make_plan(make_blueprint(**filled)).cacheable
    for axis, name in (("attention", "eager"), ("masking", "full")):
        assert make_plan(make_blueprint(**{**filled, axis: name})).cacheable


def test_all_broken_rules_are_told_at_once() -> None:
    blueprint = make_blueprint(d_model=10, num_heads=3, embedding="shared", src_vocab=5, tgt_vocab=6)
    with pytest.raises(CombinationError) as caught:
        check(make_plan(blueprint))
    assert len(str(caught.value).splitlines()) == 2


def heads_advice(blueprint: Blueprint) -> str:
    return problems(make_plan(blueprint))["heads-divide-width"]


@pytest.mark.parametrize(
    ("width", "heads", "advice"),
    [
        (7, 2, "Use num_heads 1 or 7, or d_model 6 or 8."),
        (4, 8, "Use num_heads 1 or 2 or 4, or d_model 8."),
        (10**15, 3, "Use num_heads 1 or 2 or 4, or d_model"),
    ],
)
def test_the_advice_on_heads_works(width: int, heads: int, advice: str) -> None:
    assert advice in heads_advice(make_blueprint(d_model=width, num_heads=heads))


def test_the_advice_on_heads_fits_what_turns_pairs() -> None:
    blueprint = make_blueprint(encoding="rotary", d_model=512, num_heads=7)
    assert "or d_model 504 or 518." in heads_advice(blueprint)
    for width in (504, 518):
        assert problems(make_plan(blueprint.with_sizes(d_model=width))) == {}


def test_good_combinations_break_no_rule() -> None:
    assert problems(make_plan(make_blueprint())) == {}
    check(make_plan(make_blueprint(embedding="shared", src_vocab=6, tgt_vocab=6)))
