"""Why a combination is possible or not, axis by axis, from the rules alone. Metadata only, no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from zoo.core.blueprint import Blueprint, Choice
from zoo.core.plan import make_plan
from zoo.core.registry import Registry
from zoo.core.rules import RULES, problems


@dataclass(frozen=True)
class Alternative:
    """A variant in place of the one that is chosen, all else as it is.

    Attributes:
        name: of the variant, taken with its default options.
        broken: the rules that would be broken then -> why, and what would work.
    """

    name: str
    broken: Mapping[str, str]


@dataclass(frozen=True)
class AxisReport:
    """A report on the choice on one axis.

    Attributes:
        axis: its name.
        choice: what is chosen.
        to_blame: the broken rules that another variant of this axis would keep.
        alternatives: every other variant of the axis.
    """

    axis: str
    choice: Choice
    to_blame: tuple[str, ...]
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True)
class Explanation:
    """Why a blueprint can or cannot be built.

    Attributes:
        broken: the rules that it breaks -> why, and what would work; empty if it is possible.
        axes: axis by axis.
        rules: every rule -> what it asks for.
    """

    broken: Mapping[str, str]
    axes: tuple[AxisReport, ...]
    rules: Mapping[str, str]

    @property
    def possible(self) -> bool:
        """Return whether all rules are kept."""
        return not self.broken


def explain(blueprint: Blueprint, registry: Registry) -> Explanation:
    """Check `blueprint`, and each of its neighbours that differs on one axis, against the rules.

    Raises:
        UnknownNameError: a variant that is not registered.
        ZooError: a file that is gone.
    """
    broken = problems(make_plan(blueprint, registry))
    axes = tuple(_report(axis.name, blueprint, broken, registry) for axis in registry.axes)
    rules = {rule.__name__.replace("_", "-"): (rule.__doc__ or "").partition("\n")[0] for rule in RULES}
    return Explanation(broken, axes, rules)


def _report(axis: str, blueprint: Blueprint, broken: Mapping[str, str], registry: Registry) -> AxisReport:
    chosen = blueprint[axis]
    alternatives = tuple(
        Alternative(one.name, _problems_with(blueprint, axis, one.name, registry))
        for one in registry.variants(axis)
        if chosen.then or one.name != chosen.name
    )
    to_blame = tuple(rule for rule in broken if any(rule not in one.broken for one in alternatives))
    return AxisReport(axis, chosen, to_blame, alternatives)


def _problems_with(blueprint: Blueprint, axis: str, name: str, registry: Registry) -> dict[str, str]:
    """The rules that `blueprint` would break with another variant on one axis."""
    return problems(make_plan(blueprint.with_choices(registry, **{axis: name}), registry))
