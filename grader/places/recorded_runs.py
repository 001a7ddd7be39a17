"""What the record of a failed scenario says, beside right runs: where its values go wrong."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

import torch
from torch import Tensor

from grader.core.value_trace import Place, Recordable, ValueTrace
from grader.edits.source_tree import Source
from grader.engine.answers import Answers
from grader.engine.conclusions import LIMITS
from grader.engine.contrast import differing, only_dtypes, same
from grader.engine.scenario import Free, Observation, Scenario, made_only, scenarios_of
from grader.engine.subject import AnswerKey, Subject
from grader.engine.work_clock import clock
from grader.places.alignment import OTHER_NAMES, RightValues, plain_name
from grader.places.by_argument import by_argument
from grader.places.by_values import (
    completed,
    cut_off,
    elsewhere_right,
    first_nan,
    first_wrong,
    other_default,
    own_backward,
    place_of,
    written,
)
from grader.places.cells import written_wrongly
from grader.places.common_explanation import Explanations
from grader.places.ends import at_the_end, converted
from grader.places.flow import Flow, refs
from grader.places.patching import Patching
from grader.places.raised import behind, cause, endless, exception, not_raised, raised, unregistered
from grader.places.random_numbers import applied, discarded, drawn, drops_nothing, never_dropped, shared
from grader.places.right_values import right_values_of
from grader.places.turned import layouts_mixed, mixes, turned_by, turned_first
from grader.places.where import Where
from grader.places.wrong_scenario import Wrong
from grader.worker.value_trace import EMPTY

UNFILLED = EMPTY | {"resize_"}  # what gives whatever lies in memory
MOST_RIGHT = 4  # right runs beside the wrong ones
MOST_ONCE, OFTEN = 12, 3  # runs whose rounds are counted, and how many must have one
TRACING_S = 1.5  # of work for values
NARROW = 3  # lines with wrong lists and numbers
MOST_MIXED = 3  # wrong events in which layouts may meet
WHOLE = ("bool", "int32", "int64")
MIXED = 1.15  # times as many right values in two right runs together as in one: done partly like either
SURE = ("patched", "alike", "copied")  # evidence that what raised an error was wrong before


class Records:
    """Runs failed scenarios of one submission again with a record.

    Args:
        submission: the file under test.
        source: its text.
        subject: the exercise.
        key: its right answers.
        grading: of the submission.
        deadline: of `time.monotonic`.
        explanations: get what is seen of each place.

    Attributes:
        odd: lines with something that is not right.
        ran: all lines that ran, with the conditions for it.
        behind: lines behind an exception, or in helpers whose values a wrong line reads.
        selecting: lines that made masks or indices which go into a wrong value: right ones may look alike.
        turned: lines that gave what goes into a wrong line a layout that no right run has.
        returns: by line, the lines where functions that it called returned.
        needed: lines that ran in every wrong run that was recorded; None if none was.
        flows: the wrong runs beside right ones, with whether they were in doubles.
        end: seconds of the clock of work at which no more is recorded.
        begun: how many times recording has begun.
    """

    def __init__(
        self,
        submission: Recordable,
        source: Source,
        subject: Subject,
        key: AnswerKey,
        grading: Answers,
        deadline: float,
        explanations: Explanations,
    ) -> None:
        self.submission, self.source, self.subject = submission, source, subject
        self._key, self._grading, self._deadline = key, grading, deadline
        self._explanations = explanations
        self._patching = Patching(
            lambda scenario, exact, patches: self.recorded(scenario, exact=exact, patches=patches),
            lambda scenario, got: same(scenario, self._key.right(scenario, got.free), got),
            self.late,
        )
        self.odd: list[int] = []
        self.ran: list[int] = []
        self.behind: list[int] = []
        self.selecting: list[int] = []
        self.turned: list[int] = []
        self.returns: dict[int, list[int]] = {}
        self.needed: set[int] | None = None
        self.flows: list[tuple[Flow, Wrong, bool]] = []
        self.end = math.inf
        self.begun = 0

    def one(self, wrong: Wrong, *, whole: bool = False) -> Where | None:
        """The place by one wrong result. Args: whole: only if all of its run can be recorded."""
        exact = wrong.scenario.dtype != torch.bfloat16
        for in_doubles in (True, False) if exact else (False,):
            trace, again = self.recorded(wrong.scenario, exact=in_doubles)
            if whole and not trace.ran:  # a loop over hundreds of positions
                return None
            line = wrong.got.error.line if wrong.got.error is not None else None
            if line in (None, *trace.ran):  # a call that makes parameters is not recorded
                self._narrow([*trace.ran, *self.source.backward] if trace.ran else [])
            if set(differing(wrong.scenario, self._key.right(wrong.scenario, again.free), again)) & set(
                wrong.names
            ):
                flow = self._flow(trace, wrong, exact=in_doubles)
                self._patching.proof = None
                self.flows.append((flow, wrong, in_doubles))
                found = self._look(flow, replace(wrong, got=again), exact=in_doubles)
                self._explanations.proof = self._patching.proof
                if found is not None:
                    self._explanations.add(flow, found, wrong.scenario, wrong.got.free, exact=in_doubles)
                return found
        return None

    def narrow_to_constructors(self, wrong: Wrong) -> None:
        """Leave of the lines that ran those which run before anything is called."""
        self._narrow(self.recorded(made_only(wrong.scenario), exact=False)[0].ran)

    def _narrow(self, ran: Sequence[int]) -> None:
        needed = {*ran, *(one for line in ran for one in self.source.made(line))}
        if needed:
            self.needed = needed & (self.needed or needed)

    def suspected(self, wrong: Sequence[Wrong]) -> list[int]:
        """The most likely lines, by one wrong result, of a short run if there is one."""
        self.forget()
        found = self.one(min(wrong, key=lambda one: bool(one.scenario.traits & LIMITS)), whole=True)
        return [] if found is None else [*found.lines, *found.called_from, *self.behind]

    def only_when_wrong(self, wrong: Sequence[Wrong]) -> list[int]:
        """Lines that ran in each wrong run that was recorded, and in none that is right: a condition leads there."""
        runs = [flow.trace.ran for flow, _, _ in self.flows]
        left = set(runs[0]).intersection(*runs[1:]) if runs else set()
        component = wrong[0].scenario.component
        right = {
            one.group: one
            for one in scenarios_of(self._key.scenarios, component)
            if self._grading.is_right(one)
        }
        for one in list(right.values())[:MOST_RIGHT]:
            if left:
                left -= {*self.recorded(one, exact=False)[0].ran}
        return sorted(left) if right else []

    def right_once(self, wrong: Sequence[Wrong]) -> int | None:
        """The line of a loop that has several rounds in each wrong run, and one in some that are right."""
        inside = {loop for line in self.needed or () for loop in self.source.loops(line, parts=True)}
        left = [loop for loop in sorted(inside) if self.source.carried(loop)[0]]
        own = scenarios_of(self._key.scenarios, wrong[0].scenario.component) if left else []
        right = [one for one in own if self._grading.is_right(one)]
        for one in [each.scenario for each in wrong][:MOST_ONCE] if left and len(right) >= OFTEN else ():
            trace = self.recorded(one, exact=False)[0]
            left = [loop for loop in left if self._rounds(trace, loop) > 1]
        runs = [self.recorded(one, exact=False)[0] for one in right[:MOST_ONCE] if left]
        return next(
            (loop for loop in left if [self._rounds(one, loop) for one in runs].count(1) >= OFTEN), None
        )

    def by_argument(self, wrong: Sequence[Wrong]) -> Where | None:
        """See `grader.places.by_argument`."""
        return by_argument(self.source, self._grading, self._key, wrong)

    def right_at_first(self) -> bool:
        """Whether each wrong run calls something several times, and what the first call gives is right."""
        for flow, _, _ in self.flows:
            gave = [one for one in flow.events if one.kind == "return" and not one.callers and one.result]
            values = [ref.value for item in (gave[0].result if len(gave) > 1 else ()) for ref in refs(item)]
            if not values or any(flow.name(one) is None for one in values):
                return False
        return bool(self.flows)

    def _rounds(self, trace: ValueTrace, loop: int) -> int:
        """How many rounds a loop has in a run."""
        lines = self.source.carried(loop)[1]
        counts = Counter(
            (one.frame, one.place) for one in trace.events if one.kind == "call" and one.place.line in lines
        )
        return max(counts.values(), default=0)

    def gave_wrong(self, line: int) -> int | None:
        """The `return` of a function that a line calls, where what it gave is not right."""
        returned = [one for at in self.source.span(line) for one in self.returns.get(at, ())]
        return next((one for one in returned if one in self.odd and one != line), None)

    def unsure_before(self, line: int) -> set[int]:
        """The lines of what went into a line's values, and is not known to be right."""
        return {
            flow.events[one].place.line
            for flow, _, _ in self.flows
            for index, event in enumerate(flow.events)
            if event.kind == "call" and event.place.line == line
            for one in flow.ancestors(index)
            if not flow.is_right(one) and one not in flow.vindicated
        }

    def nothing_gets(self) -> list[int]:
        """Lines whose values nothing gets, and that ran, as far as that is known: outside functions, all did."""
        ran = self.needed
        return [
            line for line in self.source.unused if not ran or line in ran or not self.source.in_function(line)
        ]

    def lacking(self) -> set[str]:
        """Operations that the right runs beside the last records have, and these have not."""
        known = [
            set(flow.right.calls) - {plain_name(event.name) for event in flow.events if event.kind == "call"}
            for flow, _, _ in self.flows
        ]
        lacking = set[str]().union(*known)
        return lacking | {name for name, plain in OTHER_NAMES.items() if plain in lacking}

    def named(self, scenario: Scenario) -> tuple[ValueTrace, RightValues]:
        """Run a scenario with a record; give that, and the right values with their names. Raises SubmissionError."""
        trace, got = self.recorded(scenario, exact=False)
        return trace, self.right_values(scenario, got.free, exact=False)[1]

    def right_values(self, scenario: Scenario, free: Free, *, exact: bool) -> tuple[RightValues, ...]:
        """The values in a scenario: of the exercise's solution, of its reference, and of both together."""
        return right_values_of(self.subject, self._grading.seed, scenario, free, exact)

    def recorded(
        self, scenario: Scenario, *, exact: bool, patches: Mapping[int, Tensor] | None = None
    ) -> tuple[ValueTrace, Observation]:
        if time.monotonic() > self._deadline:
            raise TimeoutError("looking for the place takes too long")
        # Copies: the code may change them in place.
        self.submission.record(patches and {number: x.clone() for number, x in patches.items()})
        try:
            got = self._grading.ask(scenario, exact=exact)
        finally:
            trace = self.submission.recorded()
        return trace, got

    def _flow(self, trace: ValueTrace, wrong: Wrong, *, exact: bool) -> Flow:
        """The run beside the right one that is most like it: two right ways of doing it are not mixed."""
        solved, reference, both = self.right_values(wrong.scenario, wrong.got.free, exact=exact)
        first = Flow(trace, self.source, solved)
        single = [first, first.beside(reference)]
        best = max(single, key=lambda flow: (first_wrong(flow) or -1, len(flow.vindicated)))
        mixed = first.beside(both, single)
        return mixed if len(mixed.vindicated) > MIXED * len(best.vindicated) else best

    def _look(self, flow: Flow, wrong: Wrong, *, exact: bool) -> Where | None:
        error = wrong.got.error
        if error is not None and error.line and error.type_name == "RecursionError":
            return endless(self.source, error.line)
        ran = [event.place.line for event in flow.events if event.kind != "given"]
        odd = [flow.events[i].place.line for i in range(len(flow.events)) if flow.is_right(i) is False]
        callers = [
            line for i, event in enumerate(flow.events) for line in event.callers if flow.is_right(i) is False
        ]
        for event in (one for one in flow.events if one.kind == "return" and one.callers):
            self.returns.setdefault(event.callers[0], []).append(event.place.line)
        tests = [line for one in ran for line, _ in self.source.tests(one)]
        made = [self.source.made(line) for line in dict.fromkeys([*odd, *ran])]
        self.odd += [*odd, *callers, *(one for some in made for one in some)]
        self.ran += [*tests, *reversed(ran)]
        gradient = self._of_gradient(flow, wrong)
        if gradient is not None:
            return gradient
        only = list(wrong.names) == ["changed in place"]
        changed = self._in_place(flow, wrong)
        if only or (changed is not None and first_wrong(flow) is None):
            return changed
        if only_dtypes(wrong.names, self._key.right(wrong.scenario, wrong.got.free), wrong.got):
            return converted(flow)
        default = other_default(flow)
        if default is not None:
            return default
        dropped = drops_nothing(flow) or never_dropped(flow) or discarded(flow)
        if dropped is not None:
            return dropped
        known = self._key.right(wrong.scenario, wrong.got.free).values
        random = drawn(flow, facts=not any(name in known for name in wrong.names))
        if random is not None:
            draw = place_of(flow, random, "value")
            if shared(flow, random):
                draw = replace(draw, place=Place(draw.called_from[0], draw.called_from[0]), called_from=())
            other = applied(flow, random) or next(iter(draw.called_from), draw.other)
            return replace(draw, other=other, evidence="alike")
        index, found = first_wrong(flow), None
        if index is not None:
            found = self._where(flow, wrong, index, "value", exact=exact)
            if found.evidence in SURE or error is None or not error.line:
                return completed(flow, found, error.line if error is not None else None)
        if error is not None and error.line:
            self.behind += behind(flow, error.line)
            at = exception(flow, error.line)
            failed = None if at is None else flow.failed(at)
            found = None if failed is None else self._where(flow, wrong, failed, "error", exact=exact)
            if at is None or found is None or not found.evidence:
                return raised(flow, error.line, error.message)
            if found.proved:
                plain = unregistered(flow.source, error.line, error.message)
                return found if plain is None else replace(found, other=plain)
            other = cause(flow, at, error.message) or found.other
            return replace(found, other=other or next(iter(flow.source.assigned(found.place.line)), None))
        right = self._key.right(wrong.scenario, wrong.got.free).error
        if right is not None and error is None:
            return not_raised(self.source, right.type_name)
        index = turned_first(flow)
        if index is not None:
            return self._where(flow, wrong, index, "value", exact=exact)
        return at_the_end(flow)

    def _in_place(self, flow: Flow, wrong: Wrong) -> Where | None:
        """Where an argument is changed in place, or with it what the backward pass needs."""
        error = wrong.got.error
        lost = error is not None and "inplace operation" in error.message
        index = written(flow) if lost or "changed in place" in wrong.names else None
        if index is None:
            return None
        found = place_of(flow, index, "in place")
        return replace(found, other=self.source.alias(found.place.line) or found.other)

    @staticmethod
    def _of_gradient(flow: Flow, wrong: Wrong) -> Where | None:
        """Where a gradient is cut off, becomes NaN, or goes through a `backward` of the file's own."""
        error = wrong.got.error
        if error is not None:
            return own_backward(flow, error.message)
        facts, values = wrong.got.facts, wrong.got.values
        others = [name for name in wrong.names if not name.startswith("gradient")]
        listed = [part for name in others for part in facts.get(name, name).split(", ")]  # not finite: which
        if not all(part.startswith("gradient") for part in listed):
            return None
        known = [values[name] for name in wrong.names if name in values]
        lost = bool(others) or not all(bool(one.isfinite().all()) for one in known)
        index = first_nan(flow) if lost else None
        index = cut_off(flow) if index is None else index
        return own_backward(flow) if index is None else place_of(flow, index, "gradient")

    def _where(self, flow: Flow, wrong: Wrong, index: int, why: str, *, exact: bool) -> Where:
        blamed = self._patching.proved(flow, wrong, index, exact=exact)
        filled = written_wrongly(flow, blamed.event)
        missing = None if filled.never is None else self._never_written(flow, filled.never)
        if missing is not None:
            return missing
        if filled.event is not None and filled.event != blamed.event:
            found = replace(place_of(flow, filled.event, why, seen=blamed.event), evidence="written")
            return replace(found, proved=blamed.proved)
        self._note_before(flow, index, blamed.event)
        seen = index if blamed.since is None else blamed.since
        found = place_of(flow, blamed.event, why, seen=seen)
        line = flow.events[seen].place.line
        if (
            blamed.since is not None
            and line != found.place.line
            and elsewhere_right(flow, blamed.event) is None
        ):
            found = replace(found, other=line)
        mixed = [] if blamed.proved and blamed.since is None else self._mixed(flow, seen)
        if mixed:
            blamed = replace(blamed, proved=False)
            line = flow.events[mixed[0]].place.line
            said = f"the order of its first two axes is not that of line {line}"
            found = replace(place_of(flow, mixed[-1], why), other=line, value=said)
        same = flow.counterpart(blamed.event)
        alike = same is not None and len(same.hits) == len(flow.events[blamed.event].inputs)
        evidence = "patched" if blamed.proved else "alike" if alike else "layouts" if mixed else ""
        if blamed.proved and flow.is_copy(blamed.event):
            evidence = "copied"
            inputs = flow.events[blamed.event].inputs
            maker = flow.producer(inputs[0]) if inputs else None
            if maker is not None and flow.events[maker].place.line != line:  # what is copied is wrong already
                copied = flow.events[blamed.event].place.line
                made = place_of(flow, maker, why)
                found = replace(made, other=line if copied == made.place.line else copied)
        wrong_ones = [i for i in flow.reaching - flow.vindicated if flow.is_right(i) is False]
        odd = [flow.events[i] for i in wrong_ones]
        if not evidence and flow.events[blamed.event].kind != "call" and wrong.got.error is None:
            evidence = "narrow" if len({event.place.line for event in odd}) <= NARROW else ""
        if not evidence and any(mixes(flow, one) for one in (blamed.event, index)):
            found = found if mixes(flow, blamed.event) else place_of(flow, index, why)
            evidence = "layouts"
        if not evidence and flow.source.calls(flow.events[blamed.event].place) & UNFILLED:
            evidence = "narrow"
        alone = {event.place.line for event in odd if event.kind != "return"} == {found.place.line}
        alone = alone or all(i == blamed.event or blamed.event in flow.ancestors(i) for i in wrong_ones)
        given = [flow.producer(value) for value in flow.events[blamed.event].inputs]
        own_way = [
            flow.events[one].place.line for one in given if one is not None and flow.is_right(one) is False
        ]
        other = next((line for line in own_way if line != found.place.line), None)
        if (
            alone and not evidence and other is not None
        ):  # right for another value that was made of it, not for this
            found = replace(found, other=other)
        expected = "" if mixed else blamed.expected
        return replace(found, proved=blamed.proved, expected=expected, evidence=evidence, alone=alone)

    def _note_before(self, flow: Flow, index: int, blamed: int) -> None:
        """Note the lines before a blamed event that are suspected too. Args: index: of the first wrong event."""
        values = [value for one in (index, blamed) for value in flow.events[one].inputs]
        makers = {flow.producer(value) for value in values if flow.is_turned(value)}
        turned = [turned_by(flow, one) for one in makers if one is not None and one < blamed]
        self.turned += [flow.events[one].place.line for one in sorted(turned)]
        frame = flow.events[blamed].frame
        givers = [flow.events[one] for one in flow.inputs[blamed]]
        self.behind += [one.place.line for one in givers if one.kind == "call" and one.frame != frame]
        self.selecting += [
            flow.events[maker].place.line
            for value in flow.events[blamed].inputs
            if flow.trace.values[value].dtype in WHOLE and (maker := flow.producer(value)) is not None
        ]

    @staticmethod
    def _mixed(flow: Flow, index: int) -> list[int]:
        """See `layouts_mixed`: what meets in the first wrong events."""
        wrong = (one for one in range(index, len(flow.events)) if flow.is_right(one) is False)
        return next(filter(None, (layouts_mixed(flow, one) for one in islice(wrong, MOST_MIXED))), [])

    def _never_written(self, flow: Flow, index: int) -> Where | None:
        """The loop around a write, where it leaves out what is wrong in the end; and where its range comes from."""
        line = next(iter(self.source.loops(flow.events[index].place.line)), None)
        if line is None:
            return None
        write = flow.events[index].place.line
        other = (
            write
            if self.source.indexed_freely(write, line)
            else next(iter(self.source.assigned(line)), write)
        )
        said, right = "no round of this loop writes some of the numbers", "a round for each of them"
        return Where(Place(line, line), "value", other, value=said, expected=right, evidence="written")

    def forget(self) -> None:
        """What earlier records said, before others."""
        for lines in (self.odd, self.behind, self.selecting, self.turned, self.ran, self.flows):
            lines.clear()
        self.returns.clear()
        self.needed = None
        self.begun += 1
        self.end = clock.seconds() + TRACING_S

    def late(self) -> bool:
        return clock.seconds() > self.end or time.monotonic() > self._deadline
