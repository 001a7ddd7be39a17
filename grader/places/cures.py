"""Looks for small changes that make wrong results right: in which lines, and where else if a found one may be right."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import chain as joined
from itertools import islice

from grader.edits.changed_part import changed_part, in_line
from grader.edits.edits import Edits
from grader.edits.source_tree import Source
from grader.engine.answers import Answers
from grader.engine.conclusions import LIMITS
from grader.places.by_source import kept
from grader.places.recorded_runs import Records
from grader.places.right_values import solution_text
from grader.places.undoing import EDITING_S, FEW_READINGS, SECOND_S, Cure, Searched, Undoing
from grader.places.wrong_scenario import Wrong, smallest_first

MOST_FORCED = 40
MOST_LIKELY, MOST_BEFORE = 2, 2  # lines, and those that give each of them its values
MOST_MADE = 2000  # where what a line reads was made
WITHIN_S = 1.5  # by the clock of work, in the functions of a line that values prove
AGAIN_S = 0.8  # elsewhere, where these do not help; and in lines that did not run in a wrong call


class Cures:
    """Changes of one submission's lines.

    Args:
        text: the file's.
        source: the same, parsed.
        records: of its wrong results.
        grading: of the submission.
        undoing: tries the changes; None: the submission cannot be changed.
        searched: what the searches for all components of the file have in common.

    Attributes:
        partly: changes that make only some of the last wrong results right.
    """

    def __init__(
        self,
        text: str,
        source: Source,
        records: Records,
        grading: Answers,
        undoing: Undoing | None,
        searched: Searched,
    ) -> None:
        self._text, self._source, self._records = text, source, records
        self._grading, self._undoing, self._searched = grading, undoing, searched
        self.partly: list[Cure] = []

    def somewhere(
        self,
        wrong: Sequence[Wrong],
        lines: Sequence[int],
        most: int,
        within: Collection[int],
        *,
        forced: bool = True,
    ) -> list[Cure]:
        """As `of_lines`: where nothing helps in the only lines where the mistake should be, in all."""
        undoing = self._undoing
        by_hand = bool(self._source.backward.intersection(lines[:1]))  # gradients are wrong nowhere else
        seconds = EDITING_S if by_hand or not within else WITHIN_S
        cures = self.of_lines(wrong, lines, most, within=within, forced=forced, seconds=seconds)
        done = undoing is None or undoing.partly or not (within or undoing.exhausted)
        if not cures and not done and (within or self._records.needed):
            needed = self._records.needed
            if not within:
                self._records.needed = None  # what is made once and kept did not run again
            cures = self.of_lines(wrong, lines, most, forced=forced, seconds=AGAIN_S)
            self._records.needed = needed
        self.partly = [] if undoing is None else undoing.partly
        return cures

    def of_lines(
        self,
        wrong: Sequence[Wrong],
        suspected: Sequence[int],
        most: int,
        text: str = "",
        *,
        like: str = "",
        within: Collection[int] = (),
        only: bool = False,
        forced: bool = True,
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
            forced: see `Undoing.search`.
            limits: see `Undoing.search`.
        """
        if self._undoing is None:
            return []
        scenarios = [one.scenario for one in smallest_first(wrong)]
        anywhere = only or within or self._source.compiled
        if not anywhere:  # what a call keeps may be wrong in later ones alone, in which other lines run
            anywhere = self._undoing.is_right_when_new(scenarios[0])
        needed = () if anywhere else self._records.needed or ()
        right = solution_text(wrong[0].scenario.component)
        edits = Edits(text or self._text, needed, right, self._records.lacking())
        unused = [] if only else self._records.nothing_gets()
        suspected = [each for line in (*unused, *suspected) for each in (line, *self._source.span(line))]
        likely = list(dict.fromkeys(suspected))[:MOST_LIKELY]  # with the caller, where it is in a helper
        for line in likely:
            suspected += [*self._source.assigned(line)[:MOST_BEFORE], *self._source.made(line)[:MOST_BEFORE]]
        before = [] if only else [each for line in likely for each in self._source.origins(line)]
        others = [] if only else [*self._records.ran, *self._source.statements]
        others = [each for line in others for each in (line, *self._source.span(line))]
        odd = [] if only else [*before, *self._records.behind, *self._records.odd]
        if within:
            odd, others = ([one for one in lines if one in within] for lines in (odd, others))
        tried = edits.among(suspected, odd, others, fairly=only)
        if not only and all(one.scenario.traits & LIMITS for one in wrong):
            tried = joined(edits.with_more_room(), tried)
        if like:
            tried = joined(edits.as_in(like, suspected), tried)
        if not only:
            tried = joined(edits.wired(), tried)
        if not self._grading.is_read(wrong[0].scenario.component, FEW_READINGS):
            # what is suspected may be so by wrong weights
            again = Edits(text or self._text, needed, right, self._records.lacking())
            every = again.among([*suspected, *odd, *others], [], fairly=True)
            tried = self._undoing.hurried(tried, every)
        known = () if only or text else self._searched.cures
        return self._undoing.search(
            scenarios,
            islice(tried, most),
            islice(edits.forced(), MOST_FORCED if forced and not only else 0),
            known,
            **limits,
        )

    def elsewhere(self, wrong: Sequence[Wrong], cure: Cure) -> list[Cure]:
        """A change that makes wrong results right where what a line works on comes from; the line may be right."""
        source, line = self._source, cure.line
        # an attribute that the change replaces may have been made wrongly:
        lost = self.no_longer_read(cure)
        lost += [one for at in lost for one in source.made(at) if one not in (line, *lost)]
        if lost and (found := self.of_lines(wrong, lost, MOST_MADE, seconds=SECOND_S, only=True)):
            return found
        returned = dict.fromkeys(one for at in source.span(line) for one in self._records.returns.get(at, ()))
        made = [
            one
            for one in (
                *source.assigned(line)[:MOST_BEFORE],
                *source.made(line),
                *returned,
                *source.decides(line),
                *source.otherwise(line),
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
            found = self.of_lines(
                wrong, lines, MOST_MADE, like=cure.text, seconds=SECOND_S, only=True, besides=line
            )
            if found:
                return found
        return []

    def kept_by_helper(self, cure: Cure) -> int | None:
        """The line of a helper that keeps something from one call to the next, if a change does without the helper."""
        before, after = self._source.helpers(cure.line), Source(cure.text).helpers(cure.line)
        lines = self._source.functions([one for one in before if one not in after])
        found = kept(self._source, lines, of_objects=True, of_file=True)
        return next((one for one in found.lines[::-1] if one in lines), None) if found else None

    def no_longer_read(self, cure: Cure) -> list[int]:
        """The lines where attributes were made that a changed line does not read any more, itself or by helpers."""
        source, changed = self._source, Source(cure.text)
        helpers = [one for one in source.helpers(cure.line) if one not in changed.helpers(cure.line)]
        own = [one for line in (cure.line, *helpers) for one in source.made(line)]
        return [one for one in own if one not in changed.made(cure.line) and one != cure.line]

    def made_before(self, cure: Cure) -> int | None:
        """The line that made the local which a change computes in another way."""
        old, new = changed_part(self._text, in_line(self._text, cure.text, cure.line))
        if not old.isidentifier() or not new or new.isidentifier() or re.search(rf"\b{old}\b", new):
            return None
        return self._made(cure, old)

    def no_more_read(self, cure: Cure) -> int | None:
        """The line that made the local in whose place a change reads another one, and which nothing else reads."""
        changed = Source(cure.text)
        before, after = self._source.names_read(cure.line), changed.names_read(cure.line)
        lost = before - after
        if len(lost) != 1 or not after - before or any(changed.is_read(one, cure.line) for one in lost):
            return None
        return self._made(cure, *lost)

    def _made(self, cure: Cure, name: str) -> int | None:
        made = self._source.assigned(cure.line)
        return next((at for at in made if name in self._source.given_a_value(at)), None)

    def make_right(self, text: str, wrong: Sequence[Wrong]) -> bool:
        """Whether the file is right in scenarios where it was wrong, with another text."""
        return self._undoing is not None and self._undoing.are_right(text, [one.scenario for one in wrong])
