"""Two variants side by side: no line is lost, equal lines meet, and what is declared differently is told."""

from __future__ import annotations

from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.zoo.support import accepted
from zoo.analysis.diff import (
    CHANGED,
    LEFT,
    RIGHT,
    SAME,
    Pair,
    differences,
    side,
    side_by_side,
    standing,
    unified,
)
from zoo.analysis.parameter_summary import PLACES, parameter_summary
from zoo.core.blueprint import choose, make_blueprint
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.rules import problems
from zoo.models.builder import build

REGISTRY = get_registry()
BASE = make_blueprint(
    d_model=16, num_heads=4, d_ff=8, num_encoder_layers=1, num_decoder_layers=1,
    src_vocab=9, tgt_vocab=9, max_len=8,
)  # fmt: skip
LINES = st.lists(st.sampled_from(["", "a = 1", "a = 2", "def f(self, x):", "    return x", "- + ? x"]))


class TestSideBySide:
    @given(LINES, LINES)
    def test_no_line_is_lost_or_changes_its_place(self, left: list[str], right: list[str]) -> None:
        pairs = side_by_side("\n".join(left), "\n".join(right))
        assert [one.left for one in pairs if one.left is not None] == "\n".join(left).splitlines()
        assert [one.right for one in pairs if one.right is not None] == "\n".join(right).splitlines()
        for one in pairs:
            marks = {SAME: one.left == one.right, LEFT: one.right is None, RIGHT: one.left is None}
            assert marks.get(one.mark, one.left is not None and one.right is not None)

    def test_equal_and_similar_lines_stand_beside_each_other(self) -> None:
        left = "def f(self, x):\n    y = x + self.dropout(f(norm(x)))\n    return y"
        right = "def f(self, x):\n    # the paper's\n    y = norm(x + self.dropout(f(x)))\n    return y"
        assert side_by_side(left, right) == [
            Pair("def f(self, x):", SAME, "def f(self, x):"),
            Pair(None, RIGHT, "    # the paper's"),
            Pair("    y = x + self.dropout(f(norm(x)))", CHANGED, "    y = norm(x + self.dropout(f(x)))"),
            Pair("    return y", SAME, "    return y"),
        ]

    def test_equal_texts(self) -> None:
        assert {one.mark for one in side_by_side("a\nb", "a\nb")} == {SAME}
        assert side_by_side("", "") == []

    def test_a_text_too_long_for_similarity_is_paired_by_equal_lines(self) -> None:
        left = [f"line {i}" for i in range(400)]
        right = [*left[:100], "new", *left[100:200], *left[300:]]
        pairs = side_by_side("\n".join(left), "\n".join(right))
        assert [one.right for one in pairs if one.mark == RIGHT] == ["new"]
        assert [one.left for one in pairs if one.mark == LEFT] == left[200:300]
        assert sum(one.mark == SAME for one in pairs) == 300


class TestDifferences:
    def test_what_is_declared_differently(self) -> None:
        left, right = (
            side("attention", choose(REGISTRY, "attention", text), REGISTRY)
            for text in ("eager:bias=false", "gqa")
        )
        found = {
            (one.kind, one.name): one[2:] for one in differences(REGISTRY.axis("attention"), left, right)
        }
        assert found["capability", "exact"] == (True, False)
        assert found["option", "bias"] == (False, True)
        assert found["option", "num_kv_heads"] == (None, "not given")
        assert {kind for kind, _ in found} == {"summary", "formula", "paper", "capability", "option"}
        assert ("capability", "causal") not in found

    @pytest.mark.parametrize("axis", REGISTRY.axes, ids=lambda axis: axis.name)
    def test_a_variant_differs_from_every_other_and_not_from_itself(self, axis: object) -> None:
        name = axis.name  # type: ignore[attr-defined]
        sides = [
            side(name, choose(REGISTRY, name, variant.name), REGISTRY) for variant in REGISTRY.variants(name)
        ]
        for left, right in combinations(sides, 2):
            assert differences(REGISTRY.axis(name), left, right)
            assert unified(left, right)
        for one in sides:
            assert differences(REGISTRY.axis(name), one, one) == unified(one, one) == []


class TestStanding:
    def test_in_the_base_where_that_goes(self) -> None:
        found = standing("norm", ("pre", "post"), BASE, REGISTRY)
        assert found == [BASE.with_choices(norm="pre"), BASE.with_choices(norm="post")]

    def test_each_in_its_own_where_no_one_goes_for_both(self) -> None:
        first, second = standing("head", ("logits", "log-softmax"), BASE, REGISTRY)
        assert first == BASE
        assert second["head"].name == "log-softmax"
        assert not problems(make_plan(second, REGISTRY))

    def test_what_nothing_helps_is_given_as_it_is(self) -> None:
        odd = BASE.with_sizes(d_model=15)
        (found,) = standing("norm", ("post",), odd, REGISTRY)
        assert found == odd.with_choices(norm="post")

    @pytest.mark.parametrize("variant", accepted(), ids=lambda v: f"{v.axis}/{v.name}")
    def test_every_variant_can_stand_somewhere(self, variant: object) -> None:
        axis, name = variant.axis, variant.name  # type: ignore[attr-defined]
        (found,) = standing(axis, (name,), BASE, REGISTRY)
        assert found[axis].name == name
        assert not problems(make_plan(found, REGISTRY))


class TestHoldings:
    def test_names_shapes_and_numbers(self) -> None:
        found = parameter_summary(BASE, "feedforward")
        assert found is not None
        state = build(BASE, seed=0).encoder.layers[0].feed_forward.state_dict()
        assert found.shapes == {name: tuple(value.shape) for name, value in state.items()}
        assert found.parameters == sum(value.numel() for value in state.values())
        assert found.of_model == sum(p.numel() for p in build(BASE, seed=0).parameters())

    @pytest.mark.parametrize("axis", PLACES)
    def test_the_part_is_that_of_its_axis(self, axis: str) -> None:
        for variant in accepted(axis):
            (blueprint,) = standing(axis, (variant.name,), BASE, REGISTRY)
            part = build(blueprint, seed=0).get_submodule(PLACES[axis])
            assert isinstance(part, variant.load() if isinstance(variant.load(), type) else torch.nn.Module)

    def test_what_is_no_part_of_a_model(self) -> None:
        assert [axis.name for axis in REGISTRY.axes if axis.name not in PLACES] == [
            "masking", "mask", "init", "loss", "schedule", "optimizer", "decoding",
        ]  # fmt: skip
        assert parameter_summary(BASE, "loss") is None
