"""The places of a component's mistakes: one for each that is named, and one for what has no name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.core.failures import Failed, Unexplained
from grader.core.spots import Spot, Spots
from grader.core.submission import SubmissionError
from grader.core.value_trace import Place
from grader.engine.naming import Account, Findings
from grader.engine.place import Where, unused
from grader.engine.raised import misfitting, not_raised
from grader.engine.source_tree import Source

if TYPE_CHECKING:
    from grader.engine.locate import Locator
    from grader.engine.wrong import Wrong


def find_places(locator: Locator, component: str, findings: Findings, accounts: Sequence[Account]) -> Spots:
    """Places by the id of a mistake; under "" that of all that is wrong, or of what has no name.

    Of several mistakes each is looked for where no other shows: where they overlap, nobody can say whose a place is.
    Where one small change makes all that is wrong right, there is one place.
    """
    numbers = {scenario: i for i, scenario in enumerate(findings.scenarios)}
    wrong = {numbers[one.scenario]: one for one in locator.wrong(component) if one.scenario in numbers}
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
    found, cures = {}, {}
    for name, group in groups.items():
        here = [one for i, one in wrong.items() if i in group]
        try:
            spot = _spot(locator, here) if here else None
        except Exception:  # noqa: BLE001 - a forged record, no time left, the worker gone: those found so far are kept
            break
        if spot is not None:
            found[name] = spot
            cures[name] = locator.cure
    if len(found) > 1:
        for name, text in cures.items():
            if text is not None and locator.cures(text, list(wrong.values())):
                return dict.fromkeys(found, found[name])
    return found


def _spot(locator: Locator, wrong: Sequence[Wrong]) -> Spot | None:
    place = locator.place(wrong)
    if place is not None:
        return spot_of(place)
    error = wrong[0].got.error
    return None if error is None else Spot.of_line(error.line)


def unrefused(failure: Failed, type_name: str, other: SubmissionError | None = None) -> Unexplained:
    """A failure since an error was not raised. Its place is the condition of the statement that should raise it.

    Args:
        type_name: of the error.
        other: what was raised in its place; then that is where the place is.
    """

    def locate(text: str, _deadline: float) -> Spots:
        found = not_raised(Source(text), type_name)
        if other is not None and other.line is not None:
            said = f"raises {other.type_name}"
            found = Where(Place(other.line, other.line), "error", value=said, expected=f"`{type_name}`")
        names = ["", *(named.id for named in failure.mistakes)]
        return {} if found is None else dict.fromkeys(names, spot_of(found))

    return Unexplained(lambda _deadline: failure, lambda: failure, locate)


def signature_place(text: str, error: SubmissionError) -> Spots:
    """The function that a call did not fit."""
    found = misfitting(Source(text), error.message)
    return {} if found is None else {"": spot_of(found)}


def device_place(text: str, message: str, component: str) -> Spots:
    """Return where a tensor was made on a fixed device, and where it met one of another: that line is in the message.

    Where the result is on the wrong device, and no line is: where the component makes a tensor on the default device.
    """
    line, source = re.search(r"in line (\d+)", message), Source(text)
    if line is None:
        own = [one for one in source.on_default_device if one in source.body(component)]
        at, *others = own or source.on_default_device or [0]
        other = others[0] if others else None
        return {"": spot_of(Where(Place(at, at), "value", other))} if at and len(others) < 2 else {}
    at = int(line[1])
    made = source.made_on_default_device(at)
    lost = [one for one in source.unused if source.calls(Place(one, one)) & {"to", "cuda"}]
    if lost:  # a copy on the other device that nothing gets
        return {"": spot_of(replace(unused(lost[0]), other=made or at))}
    place = Place(made or at, made or at)
    return {"": spot_of(Where(place, "value", at if made not in (None, at) else None))}


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
