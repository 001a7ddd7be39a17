"""Explanations: what is said of every neighbour of a combination is what building it says."""

from __future__ import annotations

import pytest

from zoo.analysis.explain import explain
from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.core.errors import CombinationError, UnknownNameError
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.rules import RULES, problems
from zoo.models.builder import build

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 8, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 8,
}  # fmt: skip
CASES = {
    "possible": {},
    "refused": {"head": "log-softmax"},
    "refused twice": {"head": "log-softmax", "embedding": "shared", "tgt_vocab": 13},
    "refused for its sizes": {"d_model": 9},
}


def blueprint_of(case: str) -> Blueprint:
    return make_blueprint(**{**SIZES, **CASES[case]})


@pytest.mark.parametrize("case", CASES)
def test_every_axis_and_every_other_variant_is_there_and_judged_as_the_builder_does(case: str) -> None:
    registry, blueprint = get_registry(), blueprint_of(case)
    found = explain(blueprint, registry)
    assert found.possible is (case == "possible")
    assert found.broken == problems(make_plan(blueprint, registry))
    assert [one.axis for one in found.axes] == [axis.name for axis in registry.axes]
    for report in found.axes:
        others = [v.name for v in registry.variants(report.axis) if v.name != report.choice.name]
        assert [one.name for one in report.alternatives] == others
        for one in report.alternatives:
            neighbour = blueprint.with_choices(**{report.axis: one.name})
            if not one.broken:
                build(neighbour, seed=0)
                continue
            with pytest.raises(CombinationError) as caught:
                build(neighbour, seed=0)
            for rule, sentence in one.broken.items():
                assert f"{sentence} (rule {rule})" in str(caught.value)


@pytest.mark.parametrize(
    ("case", "blamed"),
    [
        ("possible", {}),
        ("refused", {"head": ("loss-and-head",), "loss": ("loss-and-head",)}),
        (
            "refused twice",
            {
                "embedding": ("one-vocabulary",),
                "head": ("loss-and-head",),
                "loss": ("loss-and-head",),
                "assembly": ("one-vocabulary",),  # one stack has one side
            },
        ),
        ("refused for its sizes", {}),
    ],
)
def test_an_axis_is_to_blame_if_another_of_its_variants_would_keep_the_rule(
    case: str, blamed: dict[str, tuple[str, ...]]
) -> None:
    found = explain(blueprint_of(case), get_registry())
    assert {one.axis: one.to_blame for one in found.axes if one.to_blame} == blamed


def test_every_rule_says_what_it_asks_for() -> None:
    rules = explain(make_blueprint(), get_registry()).rules
    assert len(rules) == len(RULES)
    assert all(text.endswith(".") for text in rules.values())


def test_a_variant_that_is_gone() -> None:
    gone = make_blueprint()
    choices = {**gone.choices, "norm": type(gone["norm"])("gone")}
    with pytest.raises(UnknownNameError, match="There is no norm 'gone'"):
        explain(Blueprint(choices, gone.sizes), get_registry())
