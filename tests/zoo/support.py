"""What tests of whole models share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.core.rules import problems

REFUSED = {("head", "softmax")}
"""Variants that a rule refuses whatever stands beside them: probabilities, which no loss takes."""


def accepted(axis: str | None = None) -> list[Variant]:
    """The variants (of an axis) of the live registry that can stand in a model."""
    return [v for v in get_registry().variants(axis) if (v.axis, v.name) not in REFUSED]


def fitting(choices: Mapping[str, str], **sizes: Any) -> Blueprint:
    """The default blueprint with these choices; what does not go with them is changed, if a rule asks for it.

    A loss comes with a head that gives what it takes, and the other way round; an encoding that acts
    inside the attention with an attention that lets it.
    """
    given = {axis.replace("-", "_"): name for axis, name in choices.items()}
    blueprint = make_blueprint(**given, **sizes)
    registry = get_registry()
    broken = problems(make_plan(blueprint, registry))
    if "loss-and-head" in broken:
        changed = "loss" if "head" in choices else "head"
        for variant in registry.variants(changed):
            other = make_blueprint(**given, **{changed: variant.name}, **sizes)
            if "loss-and-head" not in problems(make_plan(other, registry)):
                return other
    return blueprint
