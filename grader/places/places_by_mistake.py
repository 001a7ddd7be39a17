"""The places of a component's mistakes: one for each that is named, and one for what has no name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from grader.core.spots import Spot, Spots
from grader.engine.naming import Account, Findings
from grader.places.where import Where

if TYPE_CHECKING:
    from grader.places.wrong_results import Locator
    from grader.places.wrong_scenario import Wrong


def find_places(locator: Locator, component: str, findings: Findings, accounts: Sequence[Account]) -> Spots:
    """Places by the id of a mistake; under "" that of all that is wrong, or of what has no name.

    Of several mistakes each is looked for where no other shows: where they overlap, nobody can say whose a place is.
    Where one small change makes all that is wrong right, there is one place.
    """
    wrong = wrong_in(locator, component, findings)
    explained: dict[str, set[int]] = {}
    for account in accounts:
        explained.setdefault(account.named.id, set()).update(account.scenarios)
    named = set[int]().union(*explained.values())
    groups = {
        name: own - set[int]().union(*(other for one, other in explained.items() if one != name))
        for name, own in explained.items()
    }
    groups[""] = wrong.keys() - named
    if not any(wrong.keys() & group for group in groups.values()):
        groups[""] = set(wrong)
    steps = {account.named.id: account.steps for account in accounts}
    found, cures = {}, {}
    for name, group in groups.items():
        here = [one for i, one in wrong.items() if i in group]
        try:
            spot = _spot(locator, here, steps.get(name)) if here else None
        except Exception:  # noqa: BLE001 - a forged record, no time left, the worker gone: those found so far are kept
            break
        if spot is not None:
            found[name] = spot
            cures[name] = locator.cure
    if len(found) > 1:
        for name, text in cures.items():
            if text is not None and locator.cures.make_right(text, list(wrong.values())):
                return dict.fromkeys(found, found[name])
    return found


def wrong_in(locator: Locator, component: str, findings: Findings) -> dict[int, Wrong]:
    """The wrong scenarios of a component, by their number in the findings; those that show most come first."""
    numbers = {scenario: i for i, scenario in enumerate(findings.scenarios)}
    return {numbers[one.scenario]: one for one in locator.wrong(component) if one.scenario in numbers}


def _spot(locator: Locator, wrong: Sequence[Wrong], steps: Any) -> Spot | None:
    place = locator.place(wrong, steps)
    if place is not None:
        return spot_of(replace(place, other=locator.at_its_step(place.other)))
    error = wrong[0].got.error
    return None if error is None else Spot.of_line(error.line)


def spot_of(where: Where) -> Spot:
    """A place as reports show it."""
    place = where.place
    line, name = where.last_right or (None, "")
    return Spot(
        place.line,
        place.end_line,
        place.column,
        place.end_column,
        where.why,
        where.other,
        where.called_from,
        line,
        name,
        where.value,
        where.expected,
        where.proved,
        iteration=where.iteration,
    )
