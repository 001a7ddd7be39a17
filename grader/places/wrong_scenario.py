"""A scenario that a submission is wrong in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.engine.scenario import Observation, Scenario


@dataclass(frozen=True)
class Wrong:
    """A scenario that is wrong, and in what."""

    scenario: Scenario
    names: Sequence[str]
    got: Observation


def smallest_first(wrong: Sequence[Wrong]) -> list[Wrong]:
    """The same by the size of results, those in train mode last: dropout's are drawn often, and say little.

    Errors come first if most are errors, last if not: most have one cause.
    """
    crashes = 2 * sum(one.got.error is not None for one in wrong) > len(wrong)

    def rank(one: Wrong) -> tuple[bool, bool, int]:
        training = any("train mode" in trait for trait in one.scenario.traits)
        size = sum(x.numel() for x in one.got.values.values())
        return (one.got.error is not None) != crashes, training, size

    return sorted(wrong, key=rank)
