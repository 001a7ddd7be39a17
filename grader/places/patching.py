"""Puts right values in the place of wrong ones, and sees whether the result is right then: the proof of a place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from grader.core.value_trace import ValueTrace
from grader.engine.scenario import Observation, Scenario
from grader.places.alignment import plain_name, same_layout
from grader.places.by_values import VIEWS, chain, downstream, first_wrong
from grader.places.flow import Flow
from grader.places.turned import turned_by
from grader.places.wrong_scenario import Wrong

MOST_PATCHES = 6
MOST_BEYOND = 6  # later events in which right values are tried
MOST_TRIED = 3  # right values in one place

Record = Callable[[Scenario, bool, Mapping[int, Tensor]], tuple[ValueTrace, Observation]]


@dataclass(frozen=True)
class Blamed:
    """An event, whether right values there gave a right result, and the name of the right value if it has one.

    `since`: the first event that may be wrong, where there is no right value to try there.
    """

    event: int
    proved: bool = False
    expected: str = ""
    since: int | None = None


class Patching:
    """Runs one submission with wrong values replaced by right ones.

    Args:
        record: runs a scenario (in doubles, if so) with other values for some torch calls, by their number.
        is_right: whether a scenario's result is right.
        late: whether there is no time left.

    Attributes:
        proof: the right value with which a result was right; None if none was.
    """

    def __init__(
        self, record: Record, is_right: Callable[[Scenario, Observation], bool], late: Callable[[], bool]
    ) -> None:
        self._record, self._is_right, self._late = record, is_right, late
        self.proof: Tensor | None = None

    def proved(self, flow: Flow, wrong: Wrong, index: int, *, exact: bool) -> Blamed:
        """Put right values in the place of wrong ones, run it again, and see whether the result is right.

        What is odd about an event's inputs is traced back to what made it, as far as that helps; a layout that no right
        run has, to what gave a value this layout. Where no right value is known for an event, the first one made of it
        is looked for with which the result is right.
        """
        found = self._proved(flow, wrong, index, exact=exact)
        if found.proved and self._is_no_proof(flow, found.event):
            return replace(found, proved=False)
        event = flow.events[found.event]
        values = event.inputs if plain_name(event.name) in VIEWS else flow.outputs(found.event)
        turned = found.proved and any(map(flow.is_turned, (*values, *flow.outputs(found.event))))
        first = turned_by(flow, found.event) if turned else found.event
        return (
            found if first == found.event else replace(found, event=first, since=found.since or found.event)
        )

    @staticmethod
    def _is_no_proof(flow: Flow, index: int) -> bool:
        """Whether what an event gives is the result itself, made of nothing that is known to be right."""
        after = [one for one in flow.reaching if one > index and flow.events[one].kind == "call"]
        if any(index in flow.ancestors(one) for one in after):
            return False
        return all(flow.name(value) is None for value in flow.events[index].inputs)

    def _proved(self, flow: Flow, wrong: Wrong, index: int, *, exact: bool) -> Blamed:
        back = self._traced_back(flow, wrong, index, exact=exact)
        if back is not None:
            return back
        left = MOST_BEYOND
        for later in downstream(flow, index):
            if left and any(
                tuple(o.numbers.shape) == self._shape(flow, later) for o in flow.missing(later)[:1]
            ):
                left -= 1
                found = self._traced_back(flow, wrong, later, exact=exact)
                if found is not None and found.proved:
                    return replace(found, since=index)
        return Blamed(index)

    @staticmethod
    def _shape(flow: Flow, index: int) -> tuple[int, ...]:
        return flow.trace.values[flow.outputs(index)[0]].shape

    def _traced_back(self, flow: Flow, wrong: Wrong, index: int, *, exact: bool) -> Blamed | None:
        for back, right in reversed(chain(flow, index)):
            proved, better, expected = self._repaired(flow, wrong, back, right, exact=exact)
            if proved and back != index and flow.is_right(back) and self._laid_out(flow, back):
                continue  # it is right as it is, and what comes after it is not
            if proved or better:
                return Blamed(back, proved, expected)
        return None

    def _laid_out(self, flow: Flow, index: int) -> bool:
        """Whether the last proof is an event's own value in another layout."""
        own = flow.trace.values[flow.outputs(index)[0]].numbers
        if own is None or self.proof is None or own.numel() != self.proof.numel():
            return False
        return same_layout(own, self.proof, flow.right.close)

    def _repaired(
        self, flow: Flow, wrong: Wrong, first: int, right: Tensor | None, *, exact: bool
    ) -> tuple[bool, bool, str]:
        """Replace the wrong values of one line by right ones. It may have run several times: one run after the other.

        Returns:
            whether the result was right then, whether more was right than before, the name of the right value.
        """
        patches: dict[int, Tensor] = {}
        place, index, expected = flow.events[first].place, first, ""
        before = flow
        for _ in range(MOST_PATCHES):
            event = flow.events[index]
            if event.kind != "call" or event.place != place or self._late():
                break
            if right is not None:
                options = [(right, "")]
            else:
                found = flow.counterpart(index)
                options = [] if found is None else [(found.call.output.numbers, found.call.output.name)]
                options += [(one.numbers, one.name) for one in flow.missing(index)]
                options = options[:MOST_TRIED] + [(one.numbers, one.name) for one in flow.passed(index)]
            better = None
            for numbers, name in options:
                tried = {**patches, event.number: numbers}
                trace, again = self._record(wrong.scenario, exact, tried)
                if self._is_right(wrong.scenario, again):
                    self.proof = numbers
                    return True, True, expected or name
                after = Flow(trace, flow.source, flow.right)
                if len(after.vindicated) > len(flow.vindicated) + 1:
                    better, patches, expected = after, tried, expected or name
                    break
            if better is None:
                break
            flow, right = better, None
            following = first_wrong(better)
            if following is None:
                break
            index = following
        return False, flow is not before, expected
