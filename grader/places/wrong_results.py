"""Says where the mistake behind wrong results is: by their records, and by changes that make them right."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import chain as joined
from itertools import islice
from typing import Any

import torch

from grader.core.explain import misfit
from grader.core.submission import SubmissionError
from grader.core.value_trace import Editable, Place, Recordable
from grader.edits.changed_part import made_twice, only_removes, other_number
from grader.edits.edits import Edits
from grader.edits.moved import partners
from grader.edits.source_tree import Source
from grader.engine.client import STARTS
from grader.engine.contrast import differing
from grader.engine.grading import grading_of
from grader.engine.scenario import Scenario, scenarios_of
from grader.engine.subject import AnswerKey, Subject, answer_key
from grader.places.by_source import (
    avoided,
    foreign,
    idle,
    kept,
    later_rounds,
    only_wrong,
    overwritten,
    unread,
    unregistered,
    unused,
)
from grader.places.by_values import elsewhere_right, number_read, place_of
from grader.places.common_explanation import Explanations
from grader.places.flow import Flow
from grader.places.raised import misfitting
from grader.places.recorded_runs import Records
from grader.places.right_values import mistaken_values_of, solution_text
from grader.places.undoing import EDITING_S, HURRIED_READINGS, SECOND_S, Cure, Searched, Undoing
from grader.places.where import Where
from grader.places.wrong_scenario import Wrong, smallest_first

MOST_SCENARIOS = 3  # that are looked at
ENOUGH_AGREE = 2
MOST_EDITS = 5000
MOST_SURE = 2000  # where a right value made the result right: what made the wrong one may lie before
MOST_FORCED = 40
MOST_LIKELY, MOST_BEFORE = 2, 2  # lines, and those that give each of them its values
MOST_BEHIND = 4  # lines behind an exception that are as likely as its own
MOST_MADE = 2000  # where what a line reads was made
MOST_ONLY = 12  # lines that run in no right run, where a mistake is likely
REST_S = 2.5  # of CPU for what one change does not make right, beside `EDITING_S`
MOSTLY = 2  # how many times as many results as it does not it has to make right
WITHIN_S = 1.5  # in the functions of a line that values prove
AGAIN_S = 1.5  # elsewhere, where these do not help; and in lines that did not run in a wrong call
ENOUGH = 100  # numbers in a result


@dataclass
class Looked:
    """Where wrong results were looked at: for them with another known mistake it need not be done again.

    Attributes:
        found: places by one of them each.
        records: when they were recorded, see `Records.begun`.
        in_vain: no change of a line makes all of them right.
    """

    scenarios: list[Scenario]
    found: list[Where]
    records: int = 0
    in_vain: bool = False


class Locator:
    """Finds the places of one submission's mistakes.

    Args:
        submission: the file under test.
        source: its text.
        subject: the exercise.
        seed: of its scenarios.
        deadline: of `time.monotonic`.
        searched: what the searches for other components of the file have left.

    Attributes:
        records: of the last wrong results.
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
        self._key: AnswerKey = answer_key(subject, seed)
        self.scenarios = self._key.scenarios
        self._grading = grading_of(submission, seed, subject)
        editable = submission if isinstance(submission, Editable) else None
        self._undoing = (
            None if editable is None else Undoing(editable, source, self._grading, deadline, self._searched)
        )
        self._explanations = Explanations(subject, seed, source, solution_text)
        self.records = Records(
            submission, self.source, subject, self._key, self._grading, deadline, self._explanations
        )
        # what was found for the last wrong results:
        self.cure: str | None = None  # the text that made them right, ...
        self._cured: int | None = None  # ... and the line that it changes
        self._steps: Any = None
        self._partly: list[Cure] = []
        self._looked: Looked | None = None
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
        if all(list(one.names) == [STARTS] for one in wrong):
            found = self._at_first(wrong)
        else:
            found = self._place(
                [one for one in wrong if (e := errors[one.scenario]) is None or not misfit(e)]
            )
        if found is None:
            return None
        found, cured = self._explanations.complete(found), self._cured
        within = range(found.place.line + 1, found.place.end_line + 1)  # lines of a long statement
        if cured is not None and cured in within:
            begun, end = found.place.line, found.place.end_line
            other = begun if found.other is None or begun <= found.other <= end else found.other
            return replace(found, place=Place(cured, cured), other=other)
        return found

    def _at_first(self, wrong: Sequence[Wrong]) -> Where | None:
        """The line that gives weights the values that they start with: in a constructor, or in what that calls."""
        source, begun = self.source, self.source.body(wrong[0].scenario.component)
        own = [line for line in source.functions(begun[:1]) if line > begun.start] if begun else []
        lines = [*(one for line in own for one in source.helpers(line)), *own]
        for cure in self._undone(wrong, lines, MOST_EDITS, only=True)[:1]:
            self._explanations.edited(cure.line, cure.text)
            self.cure, self._cured = cure.text, cure.line
            return Where(Place(cure.line, cure.line), "value", proved=True, event=None, evidence="edited")
        return None

    def _seen(self, wrong: Sequence[Wrong]) -> list[Where]:
        """Places by one wrong result each."""
        found: list[Where] = []
        counts: Counter[int] = Counter()
        self.records.forget()
        for each in wrong[:MOST_SCENARIOS]:
            if found and self.records.late():
                break
            one = self.records.one(each, whole=each is not wrong[-1])
            if one is not None:
                found.append(one)
                counts[one.place.line] += one.why != "omitted"
                if counts[one.place.line] == ENOUGH_AGREE:
                    break
        if self._undoing is not None:
            self._undoing.spend(max(0.0, time.process_time() - self.records.end))  # records that took long
        return found

    def _place(self, wrong: Sequence[Wrong]) -> Where | None:
        scenarios = [one.scenario for one in wrong]
        if self._looked is None or self._looked.scenarios != scenarios:
            self._looked = Looked(scenarios, self._seen(wrong))
        elif self._looked.records != self.records.begun:  # those of fewer wrong results came after them
            self._looked.found = self._seen(wrong)
        looked, found = self._looked, self._looked.found
        looked.records = self.records.begun
        counts = Counter(one.place.line for one in found if one.why != "omitted")
        best = max(found, key=lambda one: (counts[one.place.line], one.proved), default=None)
        if best is not None:
            best = replace(best, agreed=sum(one.place.line == best.place.line for one in found))
            if best.why == "in place" or (best.evidence == "dtype" and not self._keeps_something(wrong)):
                return best
        sure = best is not None and best.evidence != "copied" and (best.proved or best.why == "gradient")
        lines = self._suspects(wrong, found, best, sure=sure)
        most = MOST_SURE if sure else MOST_EDITS
        within = self._functions_of(best, lines) if best is not None and best.agreed == len(found) else set()
        cures = [] if looked.in_vain else self._undone_somewhere(wrong, lines, most, within)
        if not cures:
            looked.in_vain = True
            return self._unresolved(wrong, best, sure=sure)
        if len(cures) == 1 and (cures[0].line, cures[0].text) not in self._searched.cures:
            cures += self._elsewhere(wrong, cures[0])
        once = self._right_once(wrong, cures[0])
        if once is not None:
            return once
        if best is not None:
            best = self._shortened(best, cures)
        for cure in cures:
            self._explanations.edited(cure.line, cure.text)
        self._searched.cures = [(cure.line, cure.text) for cure in cures]
        self.cure, self._cured, proofs = cures[0].text, cures[0].line, [cure.line for cure in cures]
        between = None if best is None else self._explanations.left_out(best.place)
        kept_away = None if best is None else avoided(self.source, best, cures[0].line)
        dropped = proofs[0] in self.records.nothing_gets()  # before any other explanation
        if best is None or dropped or not {best.place.line, between} & {*proofs}:
            shown = best.lines if best else ()  # of a copy rather where it is made than what it is a copy of
            shown = shown[::-1] if best is not None and best.evidence == "copied" else shown
            other = next((one for one in shown if one != proofs[0]), None)
            why = "value" if best is None else best.why
            best, between = Where(Place(proofs[0], proofs[0]), why, other, event=None), None
        apart = [*partners(self._text, cures[0].text), *made_twice(self._text, cures[0].text)]
        second = next((line for line in (*apart, *proofs) if line != best.place.line), None)
        if kept_away is not None and kept_away != best.place.line:
            second = kept_away
        second = self._kept_by_helper(cures[0]) or second or self._beside(best, cures[0], between)
        right = best.last_right if best.last_right and best.last_right[0] not in (*proofs, *apart) else None
        return replace(best, other=second, last_right=right, proved=True, evidence="edited")

    def _undone_somewhere(
        self, wrong: Sequence[Wrong], lines: Sequence[int], most: int, within: Collection[int]
    ) -> list[Cure]:
        """As `_undone`: where nothing helps in the only lines where the mistake should be, in all."""
        undoing = self._undoing
        cures = self._undone(wrong, lines, most, within=within, seconds=WITHIN_S if within else EDITING_S)
        done = undoing is None or undoing.partly or not (within or undoing.exhausted)
        if not cures and not done and (within or self.records.needed):
            needed = self.records.needed
            if not within:
                self.records.needed = None  # what is made once and kept did not run again
            cures = self._undone(wrong, lines, most, seconds=AGAIN_S)
            self.records.needed = needed
        self._partly = [] if undoing is None else undoing.partly
        return cures

    def _keeps_something(self, wrong: Sequence[Wrong]) -> bool:
        """Whether the file is right where nothing was called before, so that it keeps something from other calls."""
        return self.cures(self._text, wrong[:1])

    def _functions_of(self, best: Where, suspected: Sequence[int]) -> set[int]:
        """The lines of the functions where the mistake is, as far as that is known: else none."""
        source = self.source
        if best.place.line in source.backward:
            helpers = [at for line in source.backward for at in source.helpers(line)]
            lines = source.functions([*source.backward, *helpers])
            return lines.union(*(forward for _, forward, _ in source.differentiated))
        if best.evidence == "patched":
            before = self.records.unsure_before(best.place.line)
            return source.functions([*suspected, *source.origins(best.place.line), *before])
        return set()

    def _beside(self, best: Where, cure: Cure, between: int | None) -> int | None:
        """A second line, where no change proves one. Args: between: what lies between the lines by values."""
        needed = self.records.needed or ()
        branch = next((line for line in self.source.decides(cure.line) if line in needed), None)
        lines = (
            best.other if best.why == "error" and best.other != best.place.line else None,  # its cause
            next((line for line in self.source.constant_read(cure.line) if line in needed), None),
            next(iter(self._no_longer_read(cure)), None),
            between,
            branch or self.source.jumps(cure.line),
            self.records.gave_wrong(best.place.line),
        )
        return next(filter(None, lines), best.other)

    def _shortened(self, best: Where, cures: list[Cure]) -> Where | None:
        """The place, or None where it is better shown at another line: what is there can be left out altogether.

        Args:
            cures: the change that leaves it out becomes the first.
        """
        here = [one for one in cures if one.line == best.place.line]
        shorter = [one for one in cures if one not in here and only_removes(self._text, one.text)]
        if not here or not shorter or only_removes(self._text, here[0].text):
            return best
        cures.sort(key=lambda one: one is not shorter[0])
        return None

    def _suspects(
        self, wrong: Sequence[Wrong], found: Sequence[Where], best: Where | None, *, sure: bool
    ) -> list[int]:
        """The lines where a change is most likely, those first. Args: found: places by one wrong result each."""
        lines = [line for one in found for line in (*one.lines, *one.called_from)]
        errors = [one.got.error for one in wrong]  # where only some of the results are errors, too
        lines += dict.fromkeys(one.line for one in errors if one is not None and one.line)
        if best is not None and best.evidence == "alike":  # what is right, but should not run
            lines += [one for line in best.lines for one in self.source.decides(line) if one not in lines]
        lines += [one for one in dict.fromkeys(self.records.turned) if one not in lines][:MOST_LIKELY]
        if best is not None and best.why == "error":
            lines += [
                *self.records.behind[:MOST_BEHIND],
                *self.source.assigned(best.place.line)[:MOST_BEHIND],
            ]
        if best is not None and best.place.line in self.source.backward:
            lines += sorted(self.source.backward)
        if best is not None and best.why == "gradient":
            lines = [*self.source.decorators([best.place.line, *best.called_from]), *lines]
        if best is not None and best.evidence == "copied":
            lines += self.source.origins(best.place.line)
        if best is None or not (sure or best.evidence):
            only = self.records.only_when_wrong(wrong)
            lines = (
                [*(one for one in lines if one in only), *only, *lines] if len(only) <= MOST_ONLY else lines
            )
        return lines

    def _unresolved(self, wrong: Sequence[Wrong], best: Where | None, *, sure: bool) -> Where | None:
        """The place where no change of one line makes all wrong results right. Args: see `_unproved`."""
        lost = self._lost(best, sure=sure)
        certain = sure or (best is not None and best.evidence == "layouts")
        known = lost or (None if certain else self._as_known(best))
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
        lines = self.records.nothing_gets()
        if best is not None and sure:
            alias, before = self.source.renamed(best.place.line), self.source.origins(best.place.line)
            lost = [one for one in (alias, *lines) if one in before and one != best.place.line]
            return replace(best, other=lost[0]) if lost else None
        found = unused(lines[0]) if lines else overwritten(self.source, self.records.needed or ())
        if found is None and self.records.needed and (best is None or not best.evidence):
            return unread(self.source, self.records.needed)
        line = None if best is None else best.place.line
        return None if found is None else replace(found, other=None if line == found.place.line else line)

    def _first_mistaken(self, flow: Flow, wrong: Wrong, *, exact: bool) -> list[Where]:
        """The first value that is one of a run with the known mistake, and not right, as all that went into it is."""
        values = mistaken_values_of(
            self.subject, self.seed, wrong.scenario, wrong.got.free, exact, self._steps
        )
        beside = flow.beside(values)

        def is_mistaken(index: int) -> bool:
            outputs = [flow.trace.values[value].numbers for value in flow.outputs(index)]
            return any(x is not None and values.has(x) and not flow.right.has(x) for x in outputs)

        for index, event in enumerate(flow.events):
            if event.kind != "call" or not event.outputs:
                continue
            is_wrong = flow.is_right(index) is False and index not in flow.vindicated
            if is_mistaken(index) or (is_wrong and any(map(beside.name, flow.outputs(index)))):
                due = all(
                    flow.is_right(one) is not False or one in flow.vindicated for one in flow.inputs[index]
                )
                found = place_of(flow, index, "value")
                made = found.last_right[0] if found.last_right else None  # a step may be missing after it
                other = number_read(flow, index) or (made if made != found.place.line else found.other)
                other = other or flow.read_in(index)
                # a helper, which is right for another call
                caller = elsewhere_right(flow, index, is_mistaken)
                if caller is not None:
                    found, other = replace(found, place=Place(caller, caller)), other or found.place.line
                return [replace(found, other=other)] if due else []
        return []

    def _as_known(self, best: Where | None) -> Where | None:
        """Where the file's values become those of the known mistake, in most of the results that were looked at."""
        flows = self.records.flows if self._steps is not None else []
        found = [
            one for flow, wrong, exact in flows for one in self._first_mistaken(flow, wrong, exact=exact)
        ]
        counts = Counter(one.place.line for one in found)
        if not counts:
            return None
        (line, agreed), *others = counts.most_common()
        known = next(one for one in found if one.place.line == line)
        if others and others[0][1] == agreed:  # either may be it
            known = replace(known, other=others[0][0])
        if best is not None and self._says_more(best, known, agreed):
            same = best.place.line == line and not best.evidence
            return replace(best, other=known.other or best.other) if same else best
        return replace(known, other=known.other or (None if best is None else best.place.line))

    @staticmethod
    def _says_more(best: Where, known: Where, agreed: int) -> bool:
        """Whether a place by values tells more than where they become those of the known mistake."""
        line = known.place.line
        if best.place.line in (line, *known.called_from):
            return True
        few = bool(best.evidence) and agreed < ENOUGH_AGREE
        # after a draw that is missing, another one is like it
        return few or (line in best.lines and best.evidence != "alike")

    def _unproved(self, wrong: Sequence[Wrong], best: Where | None, *, sure: bool) -> Where | None:
        """The place where no change of a line makes wrong results right. A wrong line is worse than none.

        Args:
            best: the place by values, or of an error.
            sure: whether values prove it.
        """
        ran = self.records.needed or ()
        names = {name for one in wrong for name in one.names}
        of_weights = [name for name in names if "parameters" in name or name.startswith("gradient")]
        if len(of_weights) == len(names) or (of_weights and self.source.hidden_parameters):
            hidden = unregistered(self.source)
            if hidden is not None:
                return hidden
        lasting = kept(self.source, ran, of_objects=False, of_file=True)
        if lasting is not None and not (best and best.proved) and self._keeps_something(wrong):
            return lasting
        weak = best is not None and best.why == "value" and not best.evidence
        if best is None or (weak and self._explanations.left_out(best.place) is None):
            parts = [name for one in wrong for name, _ in one.got.extra]
            lost = foreign(self.source, parts) or idle(self.source, ran) or unread(self.source, ran)
            lost = lost or only_wrong(self.source, self.records.only_when_wrong(wrong), best)
            loop = None if lost else self.records.right_once(wrong)
            lost = lost if loop is None else later_rounds(self.source, loop)
            lost = lost or (best if best is not None and best.alone else self._kept(wrong, ran))
            return lost or self._of_error(wrong)
        if best.evidence == "copied":
            return unread(self.source, ran) or best
        loose = best.why == "error" and not sure
        nothing = idle(self.source, ran if loose else [best.place.line])
        nothing = nothing or (unread(self.source, ran) or self._kept(wrong, ran) if loose else None)
        if nothing is None or {*nothing.lines} & {*best.lines}:
            return best
        return replace(best, other=nothing.other or nothing.place.line)

    def _right_once(self, wrong: Sequence[Wrong], cure: Cure) -> Where | None:
        """The loop that is right in its first round, where a change is another number: a larger chunk, and so one
        round."""
        loop = self.records.right_once(wrong) if other_number(self._text, cure.text) else None
        return None if loop is None else later_rounds(self.source, loop)

    def _kept(self, wrong: Sequence[Wrong], ran: Collection[int]) -> Where | None:
        """Where something is kept from one call to the next: in objects, if one was called more than once; in the file,
        if it is right when it was just loaded."""
        several = [
            sum(one.kind == "given" and not one.callers and one.name != "__init__" for one in flow.events) > 1
            for flow, _, _ in self.records.flows
        ]
        of_objects, of_file = any(several) or not several, self._keeps_something(wrong)
        return kept(self.source, ran, of_objects=of_objects, of_file=of_file)

    def _of_error(self, wrong: Sequence[Wrong]) -> Where | None:
        """Where the first error is raised, if one is; wrong values may have come first."""
        error = next((one for one in wrong if one.got.error is not None), None)
        found = None if error is None else self.records.one(error)
        return found if found is not None and found.why == "error" else None

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
        needed = () if only or within or self.source.compiled else self.records.needed or ()
        right = solution_text(wrong[0].scenario.component)
        edits = Edits(text or self._text, needed, right, self.records.lacking())
        unused = [] if only else self.records.nothing_gets()
        suspected = [each for line in (*unused, *suspected) for each in (line, *self.source.span(line))]
        likely = list(dict.fromkeys(suspected))[:MOST_LIKELY]  # with the caller, where it is in a helper
        for line in likely:
            suspected += [*self.source.assigned(line)[:MOST_BEFORE], *self.source.made(line)[:MOST_BEFORE]]
        before = [] if only else [each for line in likely for each in self.source.origins(line)]
        others = [] if only else [*self.records.ran, *self.source.statements]
        others = [each for line in others for each in (line, *self.source.span(line))]
        odd = [] if only else [*before, *self.records.behind, *self.records.odd]
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

    def _elsewhere(self, wrong: Sequence[Wrong], cure: Cure) -> list[Cure]:
        """A change that makes wrong results right where what a line works on comes from; the line may be right."""
        source, line = self.source, cure.line
        # an attribute that the change replaces may have been made wrongly:
        lost = self._no_longer_read(cure)
        lost += [one for at in lost for one in source.made(at) if one not in (line, *lost)]
        if lost and (found := self._undone(wrong, lost, MOST_MADE, seconds=SECOND_S, only=True)):
            return found
        returned = dict.fromkeys(one for at in source.span(line) for one in self.records.returns.get(at, ()))
        made = [
            one
            for one in (
                *source.assigned(line)[:MOST_BEFORE],
                *source.made(line),
                *returned,
                *source.decides(line),
                *(at for one in (source.jumps(line),) if one for at in (one, *source.helpers(one))),
                *source.callers(line),
                *source.helpers(line),
                *(at for one in source.callers(line) for at in source.helpers(one)),
                *source.readers(line),
            )
            if one != line
        ]
        # of two statements side by side that do not fit each other, either may be changed
        for lines in filter(None, (made, source.neighbours(line))):
            found = self._undone(
                wrong, lines, MOST_MADE, like=cure.text, seconds=SECOND_S, only=True, besides=line
            )
            if found:
                return found
        return []

    def _kept_by_helper(self, cure: Cure) -> int | None:
        """The line of a helper that keeps something from one call to the next, if a change does without the helper."""
        before, after = self.source.helpers(cure.line), Source(cure.text).helpers(cure.line)
        lines = self.source.functions([one for one in before if one not in after])
        found = kept(self.source, lines, of_objects=True, of_file=True)
        return next((one for one in found.lines[::-1] if one in lines), None) if found else None

    def _no_longer_read(self, cure: Cure) -> list[int]:
        """The lines where attributes were made that a changed line does not read any more, itself or by helpers."""
        source, changed = self.source, Source(cure.text)
        helpers = [one for one in source.helpers(cure.line) if one not in changed.helpers(cure.line)]
        own = [one for line in (cure.line, *helpers) for one in source.made(line)]
        return [one for one in own if one not in changed.made(cure.line) and one != cure.line]

    def _in_part(self, wrong: Sequence[Wrong], best: Where | None) -> Where | None:
        """The line behind some of the wrong results, where no one change makes all of them right.

        It is believed where it makes most of them right and none wrong, where the values say the same, or where a
        change of a second line, which is shown too, makes the others right.
        """
        one = max(self._partly, key=lambda one: len(one.cured), default=None)
        if one is None:
            return None
        once = self._right_once(wrong, one)
        if once is not None:
            return once
        rest = [each for each in wrong if each.scenario not in one.cured]
        others = []
        if rest and one.harmless and len(one.text.splitlines()) == len(self._text.splitlines()):
            others = self._undone(rest, self.records.suspected(rest), MOST_EDITS, one.text, seconds=REST_S)
        agreed = best is not None and one.line in best.lines
        everything = not rest and len(one.cured) > 1  # if only at the expense of others
        # a known mistake that gives all the results is one cause: what helps with a few may do so by accident
        mostly = one.harmless and len(one.cured) > (1 if self._steps is None else MOSTLY) * len(rest)
        if not (others or agreed or everything or mostly):
            return None
        if others or everything or mostly:  # else the change says where, and not what
            self._explanations.edited(one.line, one.text)
        self.cure = others[0].text if others else None
        if best is not None and best.place.line in [each.line for each in others]:  # whose values are known
            lost = [line for cure in (one, *others) for line in self._no_longer_read(cure)]
            second = next((line for line in (one.line, *lost) if line != best.place.line), None)
            return replace(best, other=second, proved=True, evidence="edited")
        near = best is not None and best.place.line in self.source.functions([one.line])
        readers = (*self.source.readers(one.line), *(() if near else self.source.callers(one.line)))
        read = [line for line in readers if line in self.records.odd][: not others]
        shown = list(best.lines if best else ())
        shown = [*shown, *read] if best is not None and best.evidence == "patched" else [*read, *shown]
        lines = [*(each.line for each in others), *self._no_longer_read(one), *shown]
        second = next((line for line in lines if line != one.line), None)
        if best is None or best.place.line != one.line:
            best = Where(Place(one.line, one.line), best.why if best else "value")
        return replace(best, other=second, proved=bool(others), evidence="edited")

    def cures(self, text: str, wrong: Sequence[Wrong]) -> bool:
        """Whether the file is right in scenarios where it was wrong, with another text."""
        return self._undoing is not None and self._undoing.are_right(text, [one.scenario for one in wrong])

    def forget(self) -> None:
        """Look for places again."""
        self._looked = None
        self._known.clear()
