"""Says where the mistake behind wrong results is: by their records, and by changes that make them right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from grader.core.explain import misfit
from grader.core.submission import SubmissionError
from grader.core.value_trace import Editable, Place, Recordable
from grader.edits.changed_part import (
    added_after,
    cut_no_more,
    done_too_rarely,
    in_line,
    made_twice,
    only_removes,
    other_number,
    sorts_no_more,
)
from grader.edits.moved import partners
from grader.edits.source_tree import Source
from grader.engine.client import STARTS
from grader.engine.contrast import differing
from grader.engine.grading import grading_of
from grader.engine.scenario import Scenario, scenarios_of
from grader.engine.subject import AnswerKey, Subject, answer_key
from grader.engine.work_clock import clock
from grader.places.by_source import (
    avoided,
    later_rounds,
    only_then,
)
from grader.places.common_explanation import Explanations
from grader.places.cures import MOST_LIKELY, Cures
from grader.places.raised import misfitting
from grader.places.recorded_runs import Records
from grader.places.right_values import solution_text
from grader.places.undoing import Cure, Searched, Undoing
from grader.places.where import Where
from grader.places.without_a_cure import ENOUGH_AGREE, WithoutCure
from grader.places.wrong_scenario import Wrong
from zoo.core.lines import split_lines

MOST_SCENARIOS = 3  # that are looked at
MOST_EDITS = 5000
MOST_SURE = 2000  # where a right value made the result right: what made the wrong one may lie before
MOST_GIVEN = 3  # lines that made what a helper is called with
MOST_BEHIND = 4  # lines behind an exception that are as likely as its own
MOST_WRONG = 2  # times as many scenarios of a component, where few are wrong
MOST_ONLY = 12  # lines that run in no right run, where a mistake is likely
ONLY_S = 1.5  # of work, for changes in them
REST_S = 2.5  # of work for what one change does not make right, beside `EDITING_S`
MOSTLY = 2  # how many times as many results as it does not it has to make right
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
        cures: changes that make them right.
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
        self.cures = Cures(source, self.source, self.records, self._grading, self._undoing, self._searched)
        self._without = WithoutCure(
            self.source, subject, seed, self.records, self._explanations, self._keeps_something
        )
        # what was found for the last wrong results:
        self.cure: str | None = None  # the text that made them right, ...
        self._cured: int | None = None  # ... and the line that it changes
        self._steps: Any = None
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
        for cure in self.cures.of_lines(wrong, lines, MOST_EDITS, only=True)[:1]:
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
        made = [one for one in wrong if one.got.lacking or one.got.extra]
        if made and not self.records.late():
            self.records.narrow_to_constructors(made[0])
        if self._undoing is not None:
            self._undoing.spend(max(0.0, clock.seconds() - self.records.end))  # records that took long
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
        weak = not sure and (best is None or best.evidence in ("", "narrow"))
        argument = self.records.by_argument(wrong) if weak else None
        lines = [*(argument.lines if argument else ()), *lines]
        most = MOST_SURE if sure else MOST_EDITS
        within = self._functions_of(best, lines) if best is not None and best.agreed == len(found) else set()
        cut_off = best is not None and best.why == "gradient"  # what ends all that has one would help as well
        cures = []
        if not looked.in_vain:
            cures = self.cures.somewhere(wrong, lines, most, within, forced=not cut_off)
            cures = cures or self._where_only_wrong_runs_come(wrong, self.records.only_when_wrong(wrong))
        if not cures:
            looked.in_vain = True
            narrow = best is not None and best.evidence == "narrow"
            return self._unresolved(wrong, argument if argument and narrow else best, sure=sure)
        if len(cures) == 1 and (cures[0].line, cures[0].text) not in self._searched.cures:
            cures += self.cures.elsewhere(wrong, cures[0])
        once = self._right_once(wrong, cures[0])
        if once is not None:
            return once
        return self._with_only_way(wrong, self._cured_at(best, cures), best, [one.line for one in cures])

    def _with_only_way(
        self, wrong: Sequence[Wrong], where: Where, best: Where | None, proofs: Sequence[int]
    ) -> Where:
        """With a line that only wrong calls reach: what keeps them away need not be the mistake.

        Args:
            best: the place by values: its line rather than any other.
            proofs: lines in which changes help: rather than a line of which nothing else is known.
        """
        own = scenarios_of(self._grading.scenarios, wrong[0].scenario.component)
        if where.why == "error" or MOST_WRONG * len(wrong) > len(own):
            return where
        only = self.records.only_when_wrong(wrong)
        likely = [*([] if best is None else [best.place.line]), *proofs]
        alone = only[0] if len(only) == 1 and where.other not in proofs else None
        line = next((one for one in likely if one in only), alone)
        return where if line is None or where.place.line in only else replace(where, other=line)

    def at_its_step(self, line: int | None) -> int | None:
        """Of a statement over several lines, the first one in which something was recorded: a call in a list."""
        span = range(0) if line is None else self.source.span(line)
        calls = (e for flow, _, _ in self.records.flows for e in flow.events if e.kind == "call")
        ran = {one.place.line for one in calls if one.place.line in span}
        return line if line in ran else min(ran, default=line)

    def _cured_at(self, best: Where | None, cures: list[Cure]) -> Where:
        """The place that changes prove. Args: best: the place by values, or of an error."""
        if best is not None:
            best = self._shortened(best, cures)
        for cure in cures:
            self._explanations.edited(cure.line, cure.text)
        self._searched.cures = [(cure.line, cure.text) for cure in cures]
        self.cure, self._cured, proofs = cures[0].text, cures[0].line, [cure.line for cure in cures]
        between = None if best is None else self._explanations.left_out(best.place)
        rare = next(filter(None, (done_too_rarely(self._text, cure.text) for cure in cures)), None)
        twice = made_twice(self._text, cures[0].text)  # before a line, which may be right
        after = added_after(self._text, cures[0].text)
        kept_away = None if best is None or twice or after else avoided(self.source, best, cures[0].line)
        dropped = proofs[0] in self.records.nothing_gets()  # before any other explanation
        if best is None or dropped or not {best.place.line, between} & {*proofs}:
            shown = best.lines if best else ()  # of a copy rather where it is made than what it is a copy of
            shown = shown[::-1] if best is not None and best.evidence == "copied" else shown
            other = next((one for one in shown if one != proofs[0]), None)
            why = "value" if best is None else best.why
            best, between = Where(Place(proofs[0], proofs[0]), why, other, event=None), None
        apart = [*partners(self._text, cures[0].text), *twice, *(self.source.beside(after) if after else ())]
        if sorts_no_more(self._text, cures[0].text, cures[0].line):  # and the order is not restored later
            apart = [*filter(None, [self.source.gives_back(cures[0].line)])]
        here = best.lines
        likely = sorted(proofs, key=lambda one: one not in here)
        second = next((line for line in (*apart, *likely) if line != best.place.line), None)
        if kept_away is not None and kept_away != best.place.line:
            second = kept_away
        lost = self.cures.no_more_read(cures[0])
        second = (
            self.cures.kept_by_helper(cures[0]) or lost or second or self._beside(best, cures[0], between)
        )
        right = best.last_right if best.last_right and best.last_right[0] not in (*proofs, *apart) else None
        if rare is not None and rare[0] not in best.lines:
            self._explanations.too_rarely(*rare)
            best, second = (
                replace(best, place=Place(rare[0], rare[0]), why="value", event=None),
                best.place.line,
            )
        return replace(best, other=second, last_right=right, proved=True, evidence="edited")

    def _keeps_something(self, wrong: Sequence[Wrong]) -> bool:
        """Whether the file is right where nothing was called before, so that it keeps something from other calls."""
        return self.cures.make_right(self._text, wrong[:1])

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
        after = self.source.readers(cure.line) if best.why == "gradient" else []
        lines = (
            best.other if best.why == "error" and best.other != best.place.line else None,  # its cause
            min((at for at in after if at > cure.line), default=None),
            next((line for line in self.source.constant_read(cure.line) if line in needed), None),
            next(iter(self.cures.no_longer_read(cure)), None),
            self.cures.made_before(cure),
            between,
            self.source.renamed(cure.line),
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
        given = [at for one in found for line in one.called_from[:1] for at in self.source.assigned(line)]
        lines += dict.fromkeys(given[:MOST_GIVEN])
        lines += dict.fromkeys(one for one in self.records.selecting if one not in lines)
        errors = [one.got.error for one in wrong]  # where only some of the results are errors, too
        lines += dict.fromkeys(one.line for one in errors if one is not None and one.line)
        if best is not None and best.evidence == "alike":  # what is right, but should not run
            lines += [one for line in best.lines for one in self.source.decides(line) if one not in lines]
        if any(one.got.lacking or one.got.extra for one in wrong):
            lines += sorted(self.records.needed or ())
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
        """The place where no change of one line makes all wrong results right. Args: see `WithoutCure.unproved`."""
        hidden = self._without.out_of_mode(best)
        if hidden is not None and any(
            self._grading.is_random(one.scenario, one.got) for one in wrong[:MOST_SCENARIOS]
        ):
            return hidden
        lost = self._without.lost(best, sure=sure)
        certain = sure or (best is not None and best.evidence == "layouts")
        known = lost or (None if certain else self._without.as_known(best, self._steps))
        state = self._without.kept_since_first(wrong, best)
        part = self._in_part(wrong, best)  # last: its records take the place of those that the others look at
        if state is not None and (part is None or not part.proved):
            return state
        if part is not None and (lost is None or part.proved or lost.place.line in part.lines):
            beside = lost or best
            return replace(part, other=part.other or (None if beside is None else beside.other))
        if part is not None and lost is not None:
            return replace(part, other=lost.place.line)
        if known is None:
            return self._without.unproved(wrong, best, sure=sure)
        return replace(known, other=self.source.renamed(known.place.line) or known.other)

    def _right_once(self, wrong: Sequence[Wrong], cure: Cure) -> Where | None:
        """The loop that is right if it has one round, where a change gives it that: by a larger number, a larger chunk,
        or by taking the whole in each round; or the line where no call comes then."""
        loop, numbers = None, other_number(self._text, cure.text)
        if numbers is not None:
            loop = self.records.right_once(wrong)
            only = self.records.only_when_wrong(wrong) if loop is None and numbers[0] < numbers[1] else []
            if 0 < len(only) <= MOST_ONLY:
                there = self._where_only_wrong_runs_come(wrong, only)
                return self._cured_at(None, there) if there else only_then(only[0], cure.line)
        elif bounds := cut_no_more(self._text, in_line(self._text, cure.text, cure.line)):
            loop = self.source.loop_over(cure.line, bounds)
        return None if loop is None else later_rounds(self.source, loop)

    def _where_only_wrong_runs_come(self, wrong: Sequence[Wrong], lines: Sequence[int]) -> list[Cure]:
        """Changes of lines that run in no right run, if they are few."""
        if not 0 < len(lines) <= MOST_ONLY:
            return []
        return self.cures.of_lines(wrong, lines, MOST_EDITS, only=True, seconds=ONLY_S)

    def _in_part(self, wrong: Sequence[Wrong], best: Where | None) -> Where | None:
        """The line behind some of the wrong results, where no one change makes all of them right.

        It is believed where it makes most of them right and none wrong, where the values say the same, or where a
        change of a second line, which is shown too, makes the others right.
        """
        one = max(self.cures.partly, key=lambda one: len(one.cured), default=None)
        if one is None:
            return None
        once = self._right_once(wrong, one)
        if once is not None:
            return once
        rest = [each for each in wrong if each.scenario not in one.cured]
        others = []
        if rest and one.harmless and len(split_lines(one.text)) == len(split_lines(self._text)):
            others = self.cures.of_lines(
                rest, self.records.suspected(rest), MOST_EDITS, one.text, seconds=REST_S
            )
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
            lost = [line for cure in (one, *others) for line in self.cures.no_longer_read(cure)]
            second = next((line for line in (one.line, *lost) if line != best.place.line), None)
            return replace(best, other=second, proved=True, evidence="edited")
        near = best is not None and best.place.line in self.source.functions([one.line])
        readers = (*self.source.readers(one.line), *(() if near else self.source.callers(one.line)))
        read = [line for line in readers if line in self.records.odd][: not others]
        shown = list(best.lines if best else ())
        shown = [*shown, *read] if best is not None and best.evidence == "patched" else [*read, *shown]
        lines = [*(each.line for each in others), *self.cures.no_longer_read(one), *shown]
        second = next((line for line in lines if line != one.line), None)
        if best is None or best.place.line != one.line:
            best = Where(Place(one.line, one.line), best.why if best else "value")
        return replace(best, other=second, proved=bool(others), evidence="edited")

    def forget(self) -> None:
        """Look for places again."""
        self._looked = None
        self._known.clear()
