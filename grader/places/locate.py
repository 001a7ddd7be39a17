"""Runs a failed scenario again with a record, beside the right runs, and says where the mistake is."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain as joined
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from grader.core.explain import misfit
from grader.core.submission import SubmissionError
from grader.core.value_trace import Editable, Place, Recordable, ValueTrace
from grader.edits.edits import Edits
from grader.edits.moved import partners
from grader.edits.source_tree import Source
from grader.engine.contrast import differing, only_dtypes, same
from grader.engine.grading import grading_of
from grader.engine.scenario import Free, Observation, Scenario, scenarios_of
from grader.engine.subject import AnswerKey, Subject, answer_key
from grader.places.alignment import OTHER_NAMES, RightValues, plain_name
from grader.places.explanation import Explanations
from grader.places.flow import Flow
from grader.places.patching import Patching
from grader.places.place import (
    Where,
    applied,
    at_the_end,
    completed,
    converted,
    cut_off,
    drawn,
    first_wrong,
    foreign,
    idle,
    never_dropped,
    only_wrong,
    other_default,
    overwritten,
    turned_first,
    unread,
    unused,
    where,
    written,
)
from grader.places.raised import behind, cause, endless, exception, misfitting, not_raised, raised
from grader.places.right_values import mistaken_values_of, right_values_of, solution_text
from grader.places.undoing import HURRIED_READINGS, SECOND_S, Cure, Searched, Undoing
from grader.places.wrong import Wrong, smallest_first
from grader.worker.value_trace import EMPTY

MOST_SCENARIOS = 3  # that are looked at
ENOUGH_AGREE = 2
MOST_EDITS = 5000
MOST_SURE = 2000  # where a right value made the result right: what made the wrong one may lie before
MOST_FORCED = 40
MOST_LIKELY, MOST_BEFORE = 2, 2  # lines, and those that give each of them its values
MOST_BEHIND = 4  # lines behind an exception that are as likely as its own
MOST_MADE = 2000  # where what a line reads was made
MOST_RIGHT = 4  # right runs beside the wrong ones, ...
MOST_ONLY = 12  # ... and lines that run in no right one, where a mistake is likely
TRACING_S = 1.5  # of CPU for values, ...
REST_S = 2.5  # ... and for what one change does not make right, beside `EDITING_S`
AGAIN_S = 1.5  # for lines that did not run in a wrong call
NARROW = 3  # lines with wrong lists and numbers
MIXED = 1.15  # times as many right values in two right runs together as in one: done partly like either
ENOUGH = 100  # numbers in a result
SURE = ("patched", "alike", "copied")  # evidence that what raised an error was wrong before


class Locator:
    """Finds the places of one submission's mistakes.

    Args:
        submission: the file under test.
        source: its text.
        subject: the exercise.
        seed: of its scenarios.
        deadline: of `time.monotonic`.
        searched: what the searches for other components of the file have left.
    """

    def __init__(
        self,
        submission: Recordable,
        source: str,
        subject: Subject,
        seed: int,
        deadline: float = math.inf,
        *,
        searched: Searched | None = None,
    ) -> None:
        self._searched = Searched() if searched is None else searched
        self.submission, self.subject, self.seed = submission, subject, seed
        self._deadline = deadline
        self.source, self._text = Source(source), source
        self._odd: list[int] = []  # lines with something that is not right, ...
        self._ran: list[int] = []  # ... and all that ran, with the conditions for it
        self._behind: list[
            int
        ] = []  # lines behind an exception, or in helpers whose values a wrong line reads
        self._returns: dict[int, list[int]] = {}  # by line: the lines where functions that it called returned
        self._needed: set[int] | None = None  # lines that ran in every wrong run that was recorded
        self._end = math.inf
        self._key: AnswerKey = answer_key(subject, seed)
        self.scenarios = self._key.scenarios
        self._grading = grading_of(submission, seed, subject)
        editable = submission if isinstance(submission, Editable) else None
        self._undoing = (
            None if editable is None else Undoing(editable, source, self._grading, deadline, self._searched)
        )
        self._explanations = Explanations(subject, seed, source, solution_text)
        self._patching = Patching(
            lambda scenario, exact, patches: self._recorded(scenario, exact=exact, patches=patches),
            lambda scenario, got: same(scenario, self._key.right(scenario, got.free), got),
            self._late,
        )
        # what was found for the last wrong results:
        self.cure: str | None = None  # the text that made them right, ...
        self._cured: int | None = None  # ... and the line that it changes
        self._steps: Any = None
        self._flows: list[tuple[Flow, Wrong, bool]] = []  # of the last wrong results
        self._known: dict[tuple[Any, ...], tuple[Where | None, str | None, int | None]] = {}

    def wrong(self, component: str) -> list[Wrong]:
        """The component's scenarios in which the submission is wrong; those that show most come first."""
        found = []
        for scenario in scenarios_of(self._key.scenarios, component):
            try:
                got = self._grading.got(scenario)
            except SubmissionError:
                break
            names = differing(scenario, self._key.right(scenario, got.free), got)
            if names:
                found.append(Wrong(scenario, names, got))
        return sorted(found, key=self._rank)

    def _rank(self, wrong: Wrong) -> tuple[bool, bool, int]:
        """Values before gradients and facts; large ones first: in small ones much is the same by accident.

        Errors come last, in their order: the first one is what a report shows.
        """
        right = self._key.right(wrong.scenario, wrong.got.free)
        values = [n for n in wrong.names if n in right.values and not n.startswith("gradient")]
        size = (
            0 if wrong.got.error is not None else max((x.numel() for x in right.values.values()), default=0)
        )
        return (
            not values and wrong.got.error is None,
            wrong.scenario.dtype == torch.bfloat16,
            -min(size, ENOUGH),
        )

    @property
    def is_one_change(self) -> bool:
        """Whether a change of one line made the last wrong results right."""
        return self._cured is not None

    def place(self, wrong: Sequence[Wrong], steps: Any = None) -> Where | None:
        """The place of the mistake behind wrong scenarios of one component; None if it was not found.

        Args:
            steps: of the exercise, with a known mistake that gives the same.
        """
        key = id(steps), *(one.scenario for one in wrong)
        if key not in self._known:
            self.cure = self._cured = None
            self._steps = steps
            self._known[key] = self._completed(wrong), self.cure, self._cured
        found, self.cure, self._cured = self._known[key]
        return found

    def _completed(self, wrong: Sequence[Wrong]) -> Where | None:
        errors = {one.scenario: one.got.error for one in wrong}
        unfit = [error.message for error in errors.values() if error is not None and misfit(error)]
        if len(unfit) == len(wrong):
            return misfitting(self.source, unfit[0])
        found = self._place([one for one in wrong if (e := errors[one.scenario]) is None or not misfit(e)])
        if found is None:
            return None
        found, cured = self._explanations.complete(found), self._cured
        within = range(found.place.line + 1, found.place.end_line + 1)  # lines of a long statement
        if cured is not None and cured in within:
            return replace(found, place=Place(cured, cured), other=found.place.line)
        return found

    def _place(self, wrong: Sequence[Wrong]) -> Where | None:
        found: list[Where] = []
        counts: Counter[int] = Counter()
        self._forget()
        for each in wrong[:MOST_SCENARIOS]:
            if found and self._late():
                break
            one = self._one(each, whole=each is not wrong[-1])
            if one is not None:
                found.append(one)
                counts[one.place.line] += one.why != "omitted"
                if counts[one.place.line] == ENOUGH_AGREE:
                    break
        if self._undoing is not None:
            self._undoing.spend(max(0.0, time.process_time() - self._end))  # records that took long
        best = max(found, key=lambda one: (counts[one.place.line], one.proved), default=None)
        if best is not None:
            best = replace(best, agreed=sum(one.place.line == best.place.line for one in found))
            if best.why == "in place" or best.evidence == "dtype":
                return best
        lines = [line for one in found for line in (*one.lines, *one.called_from)]
        if best is not None and best.why == "error":
            lines += self._behind[:MOST_BEHIND]
        if best is not None and best.why == "gradient":
            lines = [*self.source.decorators([best.place.line, *best.called_from]), *lines]
        if best is not None and best.evidence == "copied":
            lines += self.source.origins(best.place.line)
        sure = best is not None and best.evidence != "copied" and (best.proved or best.why == "gradient")
        if best is None or not (sure or best.evidence):
            only = self._only_when_wrong(wrong)
            lines = (
                [*(one for one in lines if one in only), *only, *lines] if len(only) <= MOST_ONLY else lines
            )
        most = MOST_SURE if sure else MOST_EDITS
        within: set[int] = set()
        if best is not None and best.evidence == "patched" and best.agreed == len(found):
            within = self.source.functions([*lines, *self.source.origins(best.place.line)])
        cures = self._undone(wrong, lines, most, within=within)
        undoing, again = self._undoing, self._needed and not within
        if not cures and again and undoing is not None and undoing.exhausted and not undoing.partly:
            self._needed = None  # what is made once and kept did not run again
            cures = self._undone(wrong, lines, most, seconds=AGAIN_S)
        if not cures:
            return self._unresolved(wrong, best, sure=sure)
        if len(cures) == 1 and (cures[0].line, cures[0].text) not in self._searched.cures:
            cures += self._elsewhere(wrong, cures[0])
        for cure in cures:
            self._explanations.edited(cure.line, cure.text)
        self._searched.cures = [(cure.line, cure.text) for cure in cures]
        self.cure, self._cured, proofs = cures[0].text, cures[0].line, [cure.line for cure in cures]
        between = None if best is None else self._explanations.left_out(best.place)
        dropped = proofs[0] in self._nothing_gets()  # before any other explanation
        if best is None or dropped or not {best.place.line, between} & {*proofs}:
            other = next((one for one in (best.lines if best else ()) if one != proofs[0]), None)
            why = "value" if best is None else best.why
            best, between = Where(Place(proofs[0], proofs[0]), why, other, event=None), None
        proofs += partners(self._text, cures[0].text)
        branch = next((line for line in self.source.decides(proofs[0]) if line in (self._needed or ())), None)
        branch = branch or self.source.jumps(proofs[0])
        second = between or branch or next((line for line in proofs if line != best.place.line), None)
        second = second or self._gave_wrong(best.place.line) or best.other
        return replace(best, other=second, proved=True, evidence="edited")

    def _unresolved(self, wrong: Sequence[Wrong], best: Where | None, *, sure: bool) -> Where | None:
        """The place where no change of one line makes all wrong results right. Args: see `_unproved`."""
        lost = self._lost(best, sure=sure)
        known = lost or (None if sure else self._as_known(best))
        part = self._in_part(wrong, best)  # last: its records take the place of those that the others look at
        if part is not None and (lost is None or part.proved or lost.place.line in part.lines):
            beside = lost or best
            return replace(part, other=part.other or (None if beside is None else beside.other))
        if part is not None and lost is not None:
            return replace(part, other=lost.place.line)
        if known is None:
            return self._unproved(wrong, best, sure=sure)
        return replace(known, other=self.source.renamed(known.place.line) or known.other)

    def _lost(self, best: Where | None, *, sure: bool) -> Where | None:
        """A statement that changes nothing, or takes an argument's place: one step of it may be missing.

        Args:
            best: the place by values, or of an error.
            sure: whether values prove it: then the step is missing before, in a line that it reads from.
        """
        lines = self._nothing_gets()
        if best is not None and sure:
            alias, before = self.source.renamed(best.place.line), self.source.origins(best.place.line)
            lost = [one for one in (alias, *lines) if one in before and one != best.place.line]
            return replace(best, other=lost[0]) if lost else None
        found = unused(lines[0]) if lines else overwritten(self.source, self._needed or ())
        if found is None and self._needed and (best is None or not best.evidence):
            return unread(self.source, self._needed)
        line = None if best is None else best.place.line
        return None if found is None else replace(found, other=None if line == found.place.line else line)

    def _first_mistaken(self, flow: Flow, wrong: Wrong, *, exact: bool) -> list[Where]:
        """The first value that is one of a run with the known mistake, and not right, as all that went into it is."""
        values = mistaken_values_of(
            self.subject, self.seed, wrong.scenario, wrong.got.free, exact, self._steps
        )
        beside = flow.beside(values)
        for index, event in enumerate(flow.events):
            if event.kind != "call" or not event.outputs:
                continue
            outputs = [flow.trace.values[value].numbers for value in flow.outputs(index)]
            is_wrong = flow.is_right(index) is False and index not in flow.vindicated
            if any(x is not None and values.has(x) and not flow.right.has(x) for x in outputs) or (
                is_wrong and any(map(beside.name, flow.outputs(index)))
            ):
                due = all(
                    flow.is_right(one) is not False or one in flow.vindicated for one in flow.inputs[index]
                )
                found = where(flow, index, "value")
                made = found.last_right[0] if found.last_right else None  # a step may be missing after it
                return (
                    [replace(found, other=made if made != found.place.line else found.other)] if due else []
                )
        return []

    def _as_known(self, best: Where | None) -> Where | None:
        """Where the file's values become those of the known mistake, in most of the results that were looked at."""
        flows = self._flows if self._steps is not None else []
        found = [
            one for flow, wrong, exact in flows for one in self._first_mistaken(flow, wrong, exact=exact)
        ]
        counts = Counter(one.place.line for one in found)
        if not counts:
            return None
        line, agreed = counts.most_common(1)[0]
        if best is not None and (line in best.lines or (best.evidence and agreed < ENOUGH_AGREE)):
            return best
        known = next(one for one in found if one.place.line == line)
        return replace(known, other=known.other or (None if best is None else best.place.line))

    def _unproved(self, wrong: Sequence[Wrong], best: Where | None, *, sure: bool) -> Where | None:
        """The place where no change of a line makes wrong results right. A wrong line is worse than none.

        Args:
            best: the place by values, or of an error.
            sure: whether values prove it.
        """
        ran = self._needed or ()
        weak = best is not None and best.why == "value" and not best.evidence
        if best is None or (weak and self._explanations.left_out(best.place) is None):
            parts = [name for one in wrong for name, _ in one.got.extra]
            lost = foreign(self.source, parts) or idle(self.source, ran) or unread(self.source, ran)
            return lost or only_wrong(self.source, self._only_when_wrong(wrong), best)
        if best.evidence == "copied":
            return unread(self.source, ran) or best
        loose = best.why == "error" and not sure
        nothing = idle(self.source, ran if loose else [best.place.line])
        nothing = nothing or (unread(self.source, ran) if loose else None)
        if nothing is None or {*nothing.lines} & {*best.lines}:
            return best
        return replace(best, other=nothing.other or nothing.place.line)

    def _only_when_wrong(self, wrong: Sequence[Wrong]) -> list[int]:
        """Lines that ran in each wrong run that was recorded, and in none that is right: a condition leads there."""
        runs = [flow.trace.ran for flow, _, _ in self._flows]
        left = set(runs[0]).intersection(*runs[1:]) if runs else set()
        component = wrong[0].scenario.component
        right = {
            one.group: one for one in scenarios_of(self.scenarios, component) if self._grading.is_right(one)
        }
        for one in list(right.values())[:MOST_RIGHT]:
            if left:
                left -= {*self._recorded(one, exact=False)[0].ran}
        return sorted(left) if right else []

    def _gave_wrong(self, line: int) -> int | None:
        """The `return` of a function that a line calls, where what it gave is not right."""
        returned = [one for at in self.source.span(line) for one in self._returns.get(at, ())]
        return next((one for one in returned if one in self._odd and one != line), None)

    def _nothing_gets(self) -> list[int]:
        """Lines whose values nothing gets, and that ran, as far as that is known: outside functions, all did."""
        ran = self._needed
        return [
            line for line in self.source.unused if not ran or line in ran or not self.source.in_function(line)
        ]

    def _forget(self) -> None:
        """What earlier records said, before others."""
        for lines in (self._odd, self._behind, self._ran, self._flows):
            lines.clear()
        self._returns.clear()
        self._needed = None
        self._end = time.process_time() + TRACING_S

    def _late(self) -> bool:
        return time.process_time() > self._end or time.monotonic() > self._deadline

    def _undone(
        self,
        wrong: Sequence[Wrong],
        suspected: Sequence[int],
        most: int,
        text: str = "",
        *,
        like: str = "",
        within: Collection[int] = (),
        only: bool = False,
        **limits: float,
    ) -> list[Cure]:
        """A change of a line that makes wrong results right; two where each of two lines can do it.

        Args:
            suspected: the most likely lines.
            most: changes that are tried.
            text: to change, in place of the file's.
            like: a changed text, whose change is tried first.
            within: the only lines where the mistake can be, as far as that is known, whether they ran or not.
            only: no lines but the suspected ones.
            limits: see `Undoing.search`.
        """
        if self._undoing is None:
            return []
        needed = () if only or within or self.source.compiled else self._needed or ()
        right = solution_text(wrong[0].scenario.component)
        edits = Edits(text or self._text, needed, right, self._lacking())
        unused = [] if only else self._nothing_gets()
        suspected = [each for line in (*unused, *suspected) for each in (line, *self.source.span(line))]
        likely = list(dict.fromkeys(suspected))[:MOST_LIKELY]  # with the caller, where it is in a helper
        for line in likely:
            suspected += [*self.source.assigned(line)[:MOST_BEFORE], *self.source.made(line)[:MOST_BEFORE]]
        before = [] if only else [each for line in likely for each in self.source.origins(line)]
        others = [] if only else [*self._ran, *self.source.statements]
        others = [each for line in others for each in (line, *self.source.span(line))]
        odd = [] if only else [*before, *self._behind, *self._odd]
        if within:
            odd, others = ([one for one in lines if one in within] for lines in (odd, others))
        tried = edits.among(suspected, odd, others, fairly=only)
        if like:
            tried = joined(edits.as_in(like, suspected), tried)
        if not (only or text or self._grading.is_read(wrong[0].scenario.component, HURRIED_READINGS)):
            # what is suspected may be so by wrong weights
            anywhere = edits.among([*suspected, *odd, *others], [], fairly=True)
            tried = joined(self._undoing.unhurried(anywhere), tried)
        known = () if only or text else self._searched.cures
        scenarios = [one.scenario for one in smallest_first(wrong)]
        return self._undoing.search(
            scenarios,
            islice(tried, most),
            islice(edits.forced(), 0 if only else MOST_FORCED),
            known,
            **limits,
        )

    def _lacking(self) -> set[str]:
        """Operations that the right runs beside the last records have, and these have not."""
        known = [
            set(flow.right.calls) - {plain_name(event.name) for event in flow.events if event.kind == "call"}
            for flow, _, _ in self._flows
        ]
        lacking = set[str]().union(*known)
        return lacking | {name for name, plain in OTHER_NAMES.items() if plain in lacking}

    def _elsewhere(self, wrong: Sequence[Wrong], cure: Cure) -> list[Cure]:
        """A change that makes wrong results right where what a line works on comes from; the line may be right."""
        source, line = self.source, cure.line
        others = Source(cure.text).made(line)
        # an attribute that the change replaces may have been made wrongly:
        lost = [one for one in source.made(line) if one not in others and one != line]
        if lost and (found := self._undone(wrong, lost, MOST_MADE, seconds=SECOND_S, only=True)):
            return found
        returned = dict.fromkeys(one for at in source.span(line) for one in self._returns.get(at, ()))
        made = [
            one
            for one in (
                *source.assigned(line)[:MOST_BEFORE],
                *source.made(line),
                *returned,
                *source.decides(line),
                *source.callers(line),
                *source.helpers(line),
                *source.readers(line),
            )
            if one != line
        ]
        return (
            self._undone(wrong, made, MOST_MADE, like=cure.text, seconds=SECOND_S, only=True) if made else []
        )

    def _suspected(self, wrong: Sequence[Wrong]) -> list[int]:
        """The most likely lines, by one wrong result."""
        self._forget()
        found = self._one(wrong[0])
        return [] if found is None else [*found.lines, *found.called_from, *self._behind]

    def _in_part(self, wrong: Sequence[Wrong], best: Where | None) -> Where | None:
        """The line behind some of the wrong results, where no one change makes all of them right.

        It is believed where it makes most of them right and none wrong, where the values say the same, or where a
        change of a second line, which is shown too, makes the others right.
        """
        partly = [] if self._undoing is None else self._undoing.partly
        one = max(partly, key=lambda one: len(one.cured), default=None)
        if one is None:
            return None
        rest = [each for each in wrong if each.scenario not in one.cured]
        others = []
        if rest and one.harmless and len(one.text.splitlines()) == len(self._text.splitlines()):
            others = self._undone(rest, self._suspected(rest), MOST_EDITS, one.text, seconds=REST_S)
        agreed = best is not None and one.line in best.lines
        everything = not rest and len(one.cured) > 1  # if only at the expense of others
        if not (others or agreed or everything or (one.harmless and len(one.cured) > len(rest))):
            return None
        self._explanations.edited(one.line, one.text)
        self.cure = others[0].text if others else None
        if best is not None and best.place.line in [each.line for each in others]:  # whose values are known
            second = one.line if one.line != best.place.line else None
            return replace(best, other=second, proved=True, evidence="edited")
        lines = [each.line for each in others] + list(best.lines if best else ())
        second = next((line for line in lines if line != one.line), None)
        if best is None or best.place.line != one.line:
            best = Where(Place(one.line, one.line), best.why if best else "value")
        return replace(best, other=second, proved=bool(others), evidence="edited")

    def cures(self, text: str, wrong: Sequence[Wrong]) -> bool:
        """Whether the file is right in scenarios where it was wrong, with another text."""
        return self._undoing is not None and self._undoing.are_right(text, [one.scenario for one in wrong])

    def forget(self) -> None:
        """Look for places again."""
        self._known.clear()

    def _one(self, wrong: Wrong, *, whole: bool = False) -> Where | None:
        """The place by one wrong result. Args: whole: only if all of its run can be recorded."""
        exact = wrong.scenario.dtype != torch.bfloat16
        for in_doubles in (True, False) if exact else (False,):
            trace, again = self._recorded(wrong.scenario, exact=in_doubles)
            if whole and not trace.ran:  # a loop over hundreds of positions
                return None
            line = wrong.got.error.line if wrong.got.error is not None else None
            if trace.ran and line in (None, *trace.ran):  # a call that makes parameters is not recorded
                ran = {*trace.ran, *self.source.backward}
                ran |= {one for line in trace.ran for one in self.source.made(line)}
                self._needed = ran & (self._needed or ran)
            if set(differing(wrong.scenario, self._key.right(wrong.scenario, again.free), again)) & set(
                wrong.names
            ):
                flow = self._flow(trace, wrong, exact=in_doubles)
                self._patching.proof = None
                self._flows.append((flow, wrong, in_doubles))
                found = self._look(flow, replace(wrong, got=again), exact=in_doubles)
                self._explanations.proof = self._patching.proof
                if found is not None:
                    self._explanations.add(flow, found, wrong.scenario, wrong.got.free, exact=in_doubles)
                return found
        return None

    def named(self, scenario: Scenario) -> tuple[ValueTrace, RightValues]:
        """Run a scenario with a record; give that, and the right values with their names. Raises SubmissionError."""
        trace, got = self._recorded(scenario, exact=False)
        return trace, self.right_values(scenario, got.free, exact=False)[1]

    def _recorded(
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
        mixed = first.beside(both)
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
            self._returns.setdefault(event.callers[0], []).append(event.place.line)
        tests = [line for one in ran for line, _ in self.source.tests(one)]
        made = [self.source.made(line) for line in dict.fromkeys([*odd, *ran])]
        self._odd += [*odd, *callers, *(one for some in made for one in some)]
        self._ran += [*tests, *reversed(ran)]
        if all(name.startswith("gradient") for name in wrong.names):
            index = cut_off(flow)
            if index is not None:
                return where(flow, index, "gradient")
        if list(wrong.names) == ["changed in place"]:
            index = written(flow)
            return None if index is None else where(flow, index, "in place")
        if only_dtypes(wrong.names, self._key.right(wrong.scenario, wrong.got.free), wrong.got):
            return converted(flow)
        default = other_default(flow)
        if default is not None:
            return default
        dropped = never_dropped(flow)
        if dropped is not None:
            return dropped
        known = self._key.right(wrong.scenario, wrong.got.free).values
        random = drawn(flow, facts=not any(name in known for name in wrong.names))
        if random is not None:
            draw = where(flow, random, "value")
            other = applied(flow, random) or next(iter(draw.called_from), draw.other)
            return replace(draw, other=other, evidence="alike")
        index, found = first_wrong(flow), None
        if index is not None:
            found = self._where(flow, wrong, index, "value", exact=exact)
            if found.evidence in SURE or error is None or not error.line:
                return completed(flow, found, error.line if error is not None else None)
        if error is not None and error.line:
            self._behind += behind(flow, error.line)
            at = exception(flow, error.line)
            failed = None if at is None else flow.failed(at)
            found = None if failed is None else self._where(flow, wrong, failed, "error", exact=exact)
            if at is None or found is None or not found.evidence:
                return raised(flow, error.line, error.message)
            if found.proved:
                return found
            other = cause(flow, at, error.message) or found.other
            return replace(found, other=other or next(iter(flow.source.assigned(found.place.line)), None))
        right = self._key.right(wrong.scenario, wrong.got.free).error
        if right is not None and error is None:
            return not_raised(self.source, right.type_name)
        index = turned_first(flow)
        if index is not None:
            return self._where(flow, wrong, index, "value", exact=exact)
        return at_the_end(flow)

    def _where(self, flow: Flow, wrong: Wrong, index: int, why: str, *, exact: bool) -> Where:
        blamed = self._patching.proved(flow, wrong, index, exact=exact)
        frame = flow.events[blamed.event].frame
        made = [flow.events[one] for one in flow.inputs[blamed.event]]
        self._behind += [one.place.line for one in made if one.kind == "call" and one.frame != frame]
        seen = index if blamed.since is None else blamed.since
        found = where(flow, blamed.event, why, seen=seen)
        line = flow.events[seen].place.line
        if blamed.since is not None and line != found.place.line:
            found = replace(found, other=line)
        other = flow.counterpart(blamed.event)
        alike = other is not None and len(other.hits) == len(flow.events[blamed.event].inputs)
        evidence = "patched" if blamed.proved else "alike" if alike else ""
        if blamed.proved and flow.is_copy(blamed.event):
            evidence = "copied"
            if made:  # what is copied is wrong too
                found = replace(
                    found, other=next((e.place.line for e in made if e.place.line != line), found.other)
                )
        if not evidence and flow.events[blamed.event].kind != "call" and wrong.got.error is None:
            lines = {
                flow.events[i].place.line
                for i in flow.reaching - flow.vindicated
                if flow.is_right(i) is False
            }
            evidence = "narrow" if len(lines) <= NARROW else ""
        if not evidence and flow.source.calls(flow.events[blamed.event].place) & EMPTY:
            evidence = "narrow"
        return replace(found, proved=blamed.proved, expected=blamed.expected, evidence=evidence)

    def right_values(self, scenario: Scenario, free: Free, *, exact: bool) -> tuple[RightValues, ...]:
        """The values in a scenario: of the exercise's solution, of its reference, and of both together."""
        return right_values_of(self.subject, self.seed, scenario, free, exact)
