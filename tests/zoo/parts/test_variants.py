"""What every variant declares about itself is so."""

from __future__ import annotations

import inspect

import pytest

from zoo.core.plugins import get_registry
from zoo.core.registry import Variant

GIVEN = {
    "attention": ("d_model", "num_heads", "dropout"),
    "norm": ("make_norm", "num_sublayers", "dropout"),
    "encoding": ("d_model", "max_len"),
    "mask": (),
    "feedforward": ("d_model", "d_ff", "dropout"),
    "norm-type": ("d_model",),
    "embedding": ("src_vocab", "tgt_vocab", "d_model"),
    "head": ("d_model", "tgt_vocab"),
    "masking": ("pad",),
    "init": (),
    "loss": ("pad",),
    "schedule": ("steps", "warmup"),
    "optimizer": ("params", "lr"),
    "decoding": (),
    "assembly": ("parts",),
}
"""What each axis hands to every variant, in this order."""


@pytest.mark.parametrize("variant", get_registry().variants(), ids=lambda v: f"{v.axis}/{v.name}")
class TestVariant:
    def test_its_options_are_the_rest_of_its_classs_arguments(self, variant: Variant) -> None:
        arguments = list(inspect.signature(variant.load()).parameters.values())
        given = GIVEN[variant.axis]
        assert tuple(argument.name for argument in arguments[: len(given)]) == given
        needs = variant.capabilities.get("needs", variant.capabilities.get("recipe", ()))
        needs = (*needs, *["matrices"] * variant.capabilities.get("matrices", False))
        rest = arguments[len(given) :]
        assert tuple(argument.name for argument in rest[: len(needs)]) == tuple(needs)
        in_place_of_the_models = {"dropout"} & set(given)  # an option that the builder hands over by position
        in_place = in_place_of_the_models.union(needs)  # or of the recipe's
        options = {o.name: o.default for o in variant.options if o.name not in in_place}
        assert {argument.name: argument.default for argument in rest[len(needs) :]} == options

    def test_its_options_take_their_defaults(self, variant: Variant) -> None:
        for option in variant.options:
            assert option.check(option.default) == option.default
            assert option.help

    def test_it_is_described(self, variant: Variant) -> None:
        assert variant.summary
        assert variant.formula
        assert inspect.getdoc(variant.load())
        first = variant.summary.split()[0]
        assert first[0].islower() or not first[0].isalpha() or first == "Adam", "a name may stand first"
