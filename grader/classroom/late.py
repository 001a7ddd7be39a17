"""Late rules: what a late submission loses.

A rule is a function from a `Late` to the points that are left. A plugin adds rules with the hook `zoo_late_rules`.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from typing import Any

from zoo.core.errors import PluginError, ZooError, describe_exception, unknown_name

DAY_S = 86_400.0


@dataclass(frozen=True)
class Late:
    """A submission that came after its deadline.

    Attributes:
        points, max_points: of the grade.
        late_s: seconds after the deadline; 0 where the platform only says "late".
        days: the same in days begun, at least 1.
        grace_days: days that the student has left, for all exercises together.
        options: of the rule, as given to `zoo class late`.
    """

    points: float
    max_points: float
    late_s: float
    days: int
    grace_days: int
    options: Mapping[str, float]


@dataclass(frozen=True)
class Verdict:
    """The decision of a late rule.

    Attributes:
        points: that are left, from 0 to the points of the grade.
        used: grace days used.
        note: for people.
    """

    points: float
    used: int = 0
    note: str = ""


Apply = Callable[[Late], Verdict]


@dataclass(frozen=True)
class LateRule:
    """A late rule that a plugin offers.

    Attributes:
        name: as typed after `--rule`.
        summary: one line.
        path: import path of the function, "package.module:function"; it takes a `Late` and returns a `Verdict`.
    """

    name: str
    summary: str
    path: str

    def load(self) -> Apply:
        """The function. Raises PluginError if `path` leads nowhere."""
        module, _, attribute = self.path.partition(":")
        try:
            apply: Apply = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise PluginError(f"The late rule at {self.path} cannot be loaded: {error}") from error
        return apply


def none(late: Late) -> Verdict:
    """Late submissions lose nothing."""
    return Verdict(late.points)


def percent(late: Late) -> Verdict:
    """Options: per_day, per cent of the points lost for each day begun; max_days, after which nothing is left."""
    return _lose(late, late.days)


def grace(late: Late) -> Verdict:
    """Each student has `days` grace days for all exercises; days beyond them cost as in `percent`."""
    used = min(late.days, late.grace_days)
    left = _lose(late, late.days - used)
    note = f"{used} grace day{'s' * (used != 1)} used"
    return Verdict(left.points, used, f"{note}; {left.note}" if left.note else note)


def _lose(late: Late, days: int) -> Verdict:
    if days <= 0:
        return Verdict(late.points)
    if days > late.options.get("max_days", math.inf):
        return Verdict(0.0, note=f"{days} days late, more than the {late.options['max_days']:g} allowed")
    share = min(days * late.options.get("per_day", 10.0), 100.0)
    return Verdict(late.points * (1 - share / 100), note=f"{days} day{'s' * (days > 1)} late: -{share:g} %")


def built_in() -> Iterable[LateRule]:
    """The rules of this module."""
    return [
        LateRule("none", "late submissions lose nothing", f"{__name__}:none"),
        LateRule(
            "percent", "points are deducted for each day or part of a day, in percent", f"{__name__}:percent"
        ),
        LateRule(
            "grace", "grace days for all exercises together, then as the rule percent", f"{__name__}:grace"
        ),
    ]


@cache
def get_rules() -> Mapping[str, LateRule]:
    """All late rules of all plugins, by name."""
    from zoo.core.plugins import get_plugins

    return get_plugins().collect("zoo_late_rules", LateRule)


def get_rule(name: str) -> LateRule:
    """The rule called `name`. Raises UnknownNameError."""
    if name not in get_rules():
        raise unknown_name("late rule", name, get_rules())
    return get_rules()[name]


def read_deadline(text: str) -> float:
    """Seconds since 1970 of a date and time, as `read_time`; a date alone means the end of that day."""
    when = _parse(text)
    if len(text.strip()) == len("2026-03-01"):
        when = when.replace(hour=23, minute=59, second=59)
    return _seconds(when, text)


def read_time(text: str) -> float:
    """Seconds since 1970 of a date and time; the local time zone where none is named.

    A date alone means the beginning of that day. Raises ZooError.
    """
    return _seconds(_parse(text), text)


def _seconds(when: datetime, text: str) -> float:
    """Seconds since 1970 of `when`, which was read from `text`. Raises ZooError outside the years 1 to 9999 in UTC."""
    try:
        return when.astimezone(timezone.utc).timestamp()
    except (ValueError, OverflowError) as error:
        raise ZooError(
            f"'{text}' is outside the years 1 to 9999 in UTC; expected a date within them."
        ) from error


def _parse(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError as error:
        raise ZooError(
            f"'{text}' is not a valid date and time; expected, for example, '2026-03-01 23:59' or "
            "'2026-03-01T23:59+01:00'."
        ) from error


def apply(rule: str, late: Late) -> Verdict:
    """Apply a rule. Raises PluginError if a plugin's rule breaks or does not return a `Verdict` in range."""
    try:
        verdict: Any = get_rule(rule).load()(late)
    except (ZooError, KeyboardInterrupt):
        raise
    except Exception as error:
        raise PluginError(f"The late rule '{rule}' is broken: {describe_exception(error)}") from error
    if not isinstance(verdict, Verdict) or not 0 <= verdict.points <= late.points:
        raise PluginError(
            f"The late rule '{rule}' returned {verdict!r}; expected a Verdict with 0 to {late.points:g} points."
        )
    return verdict
