"""Finds the places of one submission's failures, each in the way that its kind of failure needs."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from grader.core.spots import Spots
from grader.core.submission import SubmissionError
from grader.core.value_trace import Place, Recordable
from grader.edits.source_tree import Source
from grader.engine.grading import Grading
from grader.engine.naming import Findings
from grader.places.by_source import unused
from grader.places.places_by_mistake import find_places, spot_of, wrong_in
from grader.places.raised import misfitting, not_raised
from grader.places.undoing import Searched
from grader.places.where import Where
from grader.places.wrong_results import Locator

MOST_SOURCE = 100_000  # characters, where a place is looked for; an honest file has a tenth of it


class Finder:
    """Finds places in one file. Those of a component are looked for once, however many tests failed for it.

    Args:
        text: the file's.
        deadline: of `time.monotonic`.
    """

    def __init__(self, text: str, deadline: float = math.inf) -> None:
        self._text, self._deadline = text, deadline
        self._found: dict[tuple[Grading, str], Spots] = {}
        self._locators: dict[tuple[Grading, str], Locator] = {}
        self._forgotten = set[tuple[Grading, str]]()  # places that are looked for a second time
        self._searched = Searched()

    def of_component(self, grading: Grading, component: str) -> Spots:
        """The places of one component's mistakes, by id, see `find_places`.

        Raises:
            SubmissionError: it failed meanwhile.
            SyntaxError: the file is not Python.
        """
        key = grading, component
        if key not in self._found:
            self._found[key] = {}  # also where it fails
            findings, accounts = grading.explained(component, self._deadline, self)
            locator = self._locator(grading, component) if findings.wrong else None
            if locator is not None:
                self._found[key] = find_places(locator, component, findings, accounts)
        return self._found[key]

    def forget_unproved(self) -> bool:
        """Look again for unproved places where a change that was found for another component helps as well.

        Returns:
            whether there are any.
        """
        before = len(self._found)
        for (grading, component), spots in list(self._found.items()):
            key = grading, component
            locator = self._locators.get(key)
            if locator is None or key in self._forgotten or any(spot.proved for spot in spots.values()):
                continue
            wrong = list(wrong_in(locator, component, grading.explained(component)[0]).values())
            if wrong and any(locator.cures.make_right(text, wrong) for _, text in self._searched.cures):
                locator.forget()
                self._forgotten.add(key)
                del self._found[key]
        return len(self._found) < before

    def is_one_change(self, grading: Grading, component: str, findings: Findings) -> bool:
        """Whether one small change of a line makes all right that is wrong in a component. Its place is kept."""
        try:
            locator = self._locator(grading, component)
            if locator is None:
                return False
            wrong = wrong_in(locator, component, findings)
            return bool(wrong) and locator.place(list(wrong.values())) is not None and locator.is_one_change
        except Exception:  # noqa: BLE001 - as for a place: no time left, a forged record, the worker gone
            return False

    def _locator(self, grading: Grading, component: str) -> Locator | None:
        """One for each component, which remembers what it has found."""
        submission, key = grading.submission, (grading, component)
        if len(self._text) > MOST_SOURCE or not isinstance(submission, Recordable):
            return None
        if key not in self._locators:
            self._locators[key] = Locator(
                submission, self._text, grading.subject, grading.seed, self._deadline, searched=self._searched
            )
        return self._locators[key]

    def of_signature(self, error: SubmissionError) -> Spots:
        """The function that a call did not fit."""
        found = misfitting(Source(self._text), error.message)
        return {} if found is None else {"": spot_of(found)}

    def of_device(self, message: str, component: str) -> Spots:
        """Return where a tensor was made on a fixed device, and where it met one of another: the line in the message.

        Where the result is on the wrong device, and no line is: where the component makes a tensor on the default
        device.
        """
        line, source = re.search(r"in line (\d+)", message), Source(self._text)
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
        attributes = [one for each in source.span(at) for one in source.made(each)]
        kept = next((one for one in attributes if source.made_on_default_device(one) == made), made)
        if made is not None and kept not in (None, made):  # given to `self`, and not registered
            return {"": spot_of(Where(Place(kept, kept), "value", made))}
        place = Place(made or at, made or at)
        return {"": spot_of(Where(place, "value", at if made not in (None, at) else None))}

    def of_unraised(self, type_name: str, other: SubmissionError | None, names: Sequence[str]) -> Spots:
        """The condition of the statement that should raise an error. Args: names: ids of mistakes that have it."""
        found = not_raised(Source(self._text), type_name)
        if other is not None and other.line is not None:
            said = f"raises {other.type_name}"
            found = Where(Place(other.line, other.line), "error", value=said, expected=f"`{type_name}`")
        return {} if found is None else dict.fromkeys(["", *names], spot_of(found))
