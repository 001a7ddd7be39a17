"""The properties hold for every part of the live registry, and each fails for a part that lacks it."""

from __future__ import annotations

import pytest

import tests.zoo.analysis.checks.wrong  # noqa: F401  for what it adds to WRONG
from tests.zoo.analysis.checks.support import WRONG, Wrong, part
from tests.zoo.support import accepted
from zoo.analysis.checks import model
from zoo.analysis.checks.base import FAILS, HOLDS, OPEN, look
from zoo.analysis.checks.construction import CONSTRUCTED
from zoo.analysis.checks.part import part_of
from zoo.analysis.checks.run import OWN, check, properties_of
from zoo.core.axes import AXES
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant

SLOW = (
    "attention/flex",  # traces its mask function at every call
    *(f"decoding/{name}" for name in ("beam", "min-p", "no-repeat", "nucleus", "sample")),
)


def marked(variant: Variant) -> object:
    name = f"{variant.axis}/{variant.name}"
    return pytest.param(variant, id=name, marks=[pytest.mark.slow] * (name in SLOW))


@pytest.mark.parametrize("variant", [marked(variant) for variant in accepted()])
@pytest.mark.sampled(8)
def test_every_property_of_a_variant_holds_or_does_not_apply(variant: Variant) -> None:
    findings = check(part_of(get_registry(), variant.axis, variant.name))
    assert [one for one in findings if one.status == FAILS] == []
    images = variant.axis == "assembly" and variant.capabilities["reads"] == "images"  # others are for tokens
    assert images or sum(one.status == HOLDS for one in findings) > len(findings) / 2
    assert all(one.reason.endswith(".") for one in findings if one.status == OPEN)


@pytest.mark.parametrize("one", WRONG, ids=lambda one: one.id)
@pytest.mark.sampled(4)
def test_a_wrong_part_is_found_out(one: Wrong) -> None:
    (judged,) = [p for p in properties_of(one.axis) if p.title == one.title]
    finding = look(judged, part(one))
    assert finding.status == FAILS
    assert one.says in finding.reason
    assert finding.reason.endswith(".")
    assert "\n" not in finding.reason


@pytest.mark.parametrize("axis", [axis.name for axis in AXES])
def test_every_property_is_failed_by_some_wrong_part(axis: str) -> None:
    found = {one.title for one in WRONG if one.axis == axis}
    assert {one.title for one in OWN[axis]} <= found


def test_every_property_of_whole_models_is_failed_by_some_wrong_part() -> None:
    found = {one.title for one in WRONG}
    assert {one.title for one in (CONSTRUCTED, *model.WHOLE, *model.INSIDE)} <= found


@pytest.mark.parametrize("axis", [axis.name for axis in AXES])
def test_titles_are_told_apart(axis: str) -> None:
    titles = [one.title for one in properties_of(axis)]
    assert len(set(titles)) == len(titles)
