"""Where a mistake is that no change of one line undoes: by what a line makes, and by what lines do not use or keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from grader.core.value_trace import Place
from grader.edits.source_tree import Source
from grader.engine.subject import Subject
from grader.places.by_source import (
    foreign,
    idle,
    kept,
    later_rounds,
    mode_set,
    only_wrong,
    overwritten,
    unread,
    unread_argument,
    unregistered,
    unused,
)
from grader.places.by_values import elsewhere_right, number_read, place_of
from grader.places.common_explanation import Explanations
from grader.places.flow import Flow
from grader.places.recorded_runs import Records
from grader.places.right_values import mistaken_values_of
from grader.places.where import Where
from grader.places.wrong_scenario import Wrong

ENOUGH_AGREE = 2  # results that give the same place


class WithoutCure:
    """Places of one submission's wrong results.

    Args:
        source: the file.
        subject: the exercise.
        seed: of its scenarios.
        records: of the wrong results.
        explanations: of what lines make.
        keeps_something: whether the file is right where nothing was called before these wrong results, so that it
            keeps something from other calls.
    """

    def __init__(
        self,
        source: Source,
        subject: Subject,
        seed: int,
        records: Records,
        explanations: Explanations,
        keeps_something: Callable[[Sequence[Wrong]], bool],
    ) -> None:
        self._source, self._subject, self._seed, self._records = source, subject, seed, records
        self._explanations, self._keeps_something = explanations, keeps_something

    def lost(self, best: Where | None, *, sure: bool) -> Where | None:
        """A statement that changes nothing, or takes an argument's place: one step of it may be missing.

        Args:
            best: the place by values, or of an error.
            sure: whether values prove it: then the step is missing before, in a line that it reads from.
        """
        lines = self._records.nothing_gets()
        if best is not None and sure:
            alias, before = self._source.renamed(best.place.line), self._source.origins(best.place.line)
            lost = [one for one in (alias, *lines) if one in before and one != best.place.line]
            return replace(best, other=lost[0]) if lost else None
        found = unused(lines[0]) if lines else overwritten(self._source, self._records.needed or ())
        if found is None and self._records.needed and (best is None or not best.evidence):
            return unread(self._source, self._records.needed)
        line = None if best is None else best.place.line
        return None if found is None else replace(found, other=None if line == found.place.line else line)

    def _first_mistaken(self, flow: Flow, wrong: Wrong, steps: Any, *, exact: bool) -> list[Where]:
        """The first value that is one of a run with the known mistake, and not right, as all that went into it is."""
        values = mistaken_values_of(self._subject, self._seed, wrong.scenario, wrong.got.free, exact, steps)
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

    def out_of_mode(self, best: Where | None) -> Where | None:
        """Where parts are made that a change of mode does not reach. Args: best: the place by values."""
        hidden = unregistered(self._source) if self._source.hidden_modules else None
        if hidden is None or hidden.other or best is None:
            return hidden
        return replace(hidden, other=best.place.line)

    def as_known(self, best: Where | None, steps: Any) -> Where | None:
        """Where the file's values become those of the known mistake, in most of the results that were looked at.

        Args:
            best: the place by values, or of an error.
            steps: of the exercise, with the known mistake; None: none is known.
        """
        flows = self._records.flows if steps is not None else []
        found = [
            one
            for flow, wrong, exact in flows
            for one in self._first_mistaken(flow, wrong, steps, exact=exact)
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

    def unproved(self, wrong: Sequence[Wrong], best: Where | None, *, sure: bool) -> Where | None:
        """The place where no change of a line makes wrong results right. A wrong line is worse than none.

        Args:
            best: the place by values, or of an error.
            sure: whether values prove it.
        """
        ran = self._records.needed or ()
        names = {name for one in wrong for name in one.names}
        of_weights = [name for name in names if "parameters" in name or name.startswith("gradient")]
        if len(of_weights) == len(names) or (of_weights and self._source.hidden_parameters):
            hidden = unregistered(self._source)
            if hidden is not None:
                return hidden
        of_mode = bool(names) and all("mode" in name.split() for name in names)  # an error has none
        mode = mode_set(self._source, ran) if of_mode else None
        if mode is not None:
            return mode
        lasting = kept(self._source, ran, of_objects=False, of_file=True)
        if lasting is not None and not (best and best.proved) and self._keeps_something(wrong):
            return lasting
        weak = best is not None and best.why == "value" and not best.evidence
        if best is None or (weak and self._explanations.left_out(best.place) is None):
            parts = [name for one in wrong for name, _ in one.got.extra]
            lost = foreign(self._source, parts) or idle(self._source, ran) or unread(self._source, ran)
            lost = lost or only_wrong(self._source, self._records.only_when_wrong(wrong), best)
            loop = None if lost else self._records.right_once(wrong)
            lost = lost if loop is None else later_rounds(self._source, loop)
            lost = lost or (best if best is not None and best.alone else self._kept(wrong, ran))
            lost = lost or self._of_error(wrong) or self._records.by_argument(wrong)
            return lost or unread_argument(self._source, wrong[0].scenario.component, ran)
        if best.evidence == "copied":
            return unread(self._source, ran) or best
        loose = best.why == "error" and not sure
        nothing = idle(self._source, ran if loose else [best.place.line])
        nothing = nothing or (unread(self._source, ran) or self._kept(wrong, ran) if loose else None)
        if nothing is None or {*nothing.lines} & {*best.lines}:
            return best
        return replace(best, other=nothing.other or nothing.place.line)

    def kept_since_first(self, wrong: Sequence[Wrong], best: Where | None) -> Where | None:
        """Where something is kept, if what was called first is right and what was called later is not."""
        found = None
        if self._records.right_at_first():
            found = self._kept(wrong, self._records.needed or ())
        if found is None or found.other or best is None:
            return found
        return replace(found, other=best.place.line)

    def _kept(self, wrong: Sequence[Wrong], ran: Collection[int]) -> Where | None:
        """Where something is kept from one call to the next: in objects, if one was called more than once; in the file,
        if it is right when it was just loaded."""
        several = [
            sum(one.kind == "given" and not one.callers and one.name != "__init__" for one in flow.events) > 1
            for flow, _, _ in self._records.flows
        ]
        of_objects, of_file = any(several) or not several, self._keeps_something(wrong)
        return kept(self._source, ran, of_objects=of_objects, of_file=of_file)

    def _of_error(self, wrong: Sequence[Wrong]) -> Where | None:
        """Where the first error is raised, if one is; wrong values may have come first."""
        error = next((one for one in wrong if one.got.error is not None), None)
        found = None if error is None else self._records.one(error)
        return found if found is not None and found.why == "error" else None
