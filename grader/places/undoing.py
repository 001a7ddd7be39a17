"""Proves a line: a small change there makes wrong results right."""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from grader.core.submission import SubmissionError
from grader.core.value_trace import Editable
from grader.edits.changed_part import MANY, only_more_room, size_of_change
from grader.edits.ending import LOOPING_S, Ending
from grader.edits.syntax import DRAWING
from grader.engine.answers import Answers, Choice
from grader.engine.scenario import Scenario, scenarios_of
from grader.engine.work_clock import clock
from grader.worker.absent import without_scripting

EDITING_S = 3.0  # by the clock of work, ...
ALL_S = 4.5  # ... for all searches together, ...
LEAST_S = 1.0  # ... of which each component and each search has this much at least, ...
HURRIED = 0.75  # ... the first part of it with weights read in one way, if none is known to be right, ...
FORCED_S = 0.3  # of it for conditions that are always met, or never, ...
NOTING_S = 0.6  # ... to see what the changes that help in part are worth, ...
SECOND_S = 0.35  # ... for a second line that may be at fault as well
LONGER = 2  # times as long as the submission, of which loops are a part, that those of a copy may take
MOVED = 3  # ... so many times as long where a statement was only moved
LONG_S = 0.5  # that a scenario takes: where it is right, copies are not asked it
WAITING = 4.0  # seconds that pass, that count as one of work
MOST_BEFORE = 4  # calls that something may be kept from
MOST_CURES = 4  # of which the smallest are shown
MOST_READINGS = 100
LIKELY_READINGS = 8  # of which the first is that which names say
FEW_READINGS = 2  # of two norms alike
ERRORS = (SubmissionError, SyntaxError, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError)
MOST_OTHERS = 6  # scenarios of another component that a change must not make wrong
MOST_NOTED = 12  # changes that make a first wrong result right
MOST_PARTLY = 6  # lines in which a change makes some wrong results right

Tried = Iterable[tuple[int, str]]  # lines, and the file with one of them changed, the most likely first


@dataclass(frozen=True)
class Cure:
    """A small change of a line: the file with it, which scenarios it makes right, and whether it makes any wrong."""

    line: int
    text: str
    cured: frozenset[Scenario]
    harmless: bool = True


def raises_itself(text: str, line: int | None) -> bool:
    """Whether a file raises an error itself in a line: what Python or torch raises may be as wanted by accident."""
    raised = (one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Raise))
    return line is not None and any(one.lineno <= line <= (one.end_lineno or one.lineno) for one in raised)


@dataclass
class Searched:
    """What the searches for the components of one file have in common.

    Attributes:
        seconds: of work that went into changed copies.
        cures: lines and texts that made one component right: another one too?
    """

    seconds: float = 0.0
    cures: list[tuple[int, str]] = field(default_factory=list)


class Undoing:
    """Tries changed copies of one submission.

    Args:
        submission: the file under test.
        text: its text, which is Python.
        answers: the submission's.
        deadline: of `time.monotonic`.
        searched: what other searches have left.
    """

    def __init__(
        self, submission: Editable, text: str, answers: Answers, deadline: float, searched: Searched
    ) -> None:
        self._searched = searched
        self._submission, self._answers, self._deadline = submission, answers, deadline
        self._text = text
        self._begun = self._clocks()
        self._end, self._most_readings = math.inf, MOST_READINGS
        self._left = max(min(ALL_S, LEAST_S), ALL_S - searched.seconds)
        self._known: dict[str, dict[Choice, int]] = {}
        self._readings: dict[Choice, int] = {}  # of weights, with which a copy was right
        self._ending = Ending(text)
        self._when_new: dict[Scenario, bool] = {}
        self._others: dict[str, list[list[Scenario]]] = {}  # by component: what is right of the others
        # of the last search: changes that make only some wrong results right, and whether there were no more to try
        self.partly: list[Cure] = []
        self.exhausted = False

    def spend(self, seconds: float) -> None:
        """Leave so much less time for all searches together, but enough for one. Args: seconds: of work."""
        self._left = min(self._left, max(EDITING_S, self._left - seconds))

    def search(
        self,
        wrong: Sequence[Scenario],
        tried: Tried,
        forced: Tried,
        known: Tried = (),
        seconds: float = EDITING_S,
        besides: float = 0,
    ) -> list[Cure]:
        """Changes that make all wrong scenarios right, of one line each, the smallest first.

        Args:
            wrong: those with the fewest numbers first.
            forced: changes that may make wrong what was right; tried where no other one helps.
            known: changes that made other wrong scenarios right: no more are tried where one does it again.
            seconds: of work.
            besides: a line that is known already.
        """
        found: list[Cure] = []
        some: list[tuple[int, str]] = []  # changes that make the first scenario right, and not all
        self.partly = []
        right = [
            one for one in scenarios_of(self._answers.scenarios, wrong[0].component)
            if one not in wrong and self._answers.is_right(one) and self._answers.seconds(one) < LONG_S
        ]  # fmt: skip
        self._begun = self._clocks()
        self._end, self._most_readings = min(seconds, max(self._left, LEAST_S)), MOST_READINGS
        one_wrong, everything = self._asked(wrong, right)
        if not one_wrong:  # wrong only after calls of another component: nothing can be proved here
            return [Cure(*one, frozenset(wrong)) for one in known]
        again = [Cure(*one, frozenset(wrong)) for one in known if self.are_right(one[1], everything)]
        if again:
            return again
        conditions = list(forced)
        for line, text in tried:
            if self._late(FORCED_S if conditions else 0.0) or len(found) == MOST_CURES:
                break
            if line in (besides, *(one.line for one in found)):
                continue
            first = self.are_right(text, one_wrong)
            sure = first and self.are_right(text, everything)
            if (
                sure
                and self._spares_others(text, wrong[0].component)
                and self.needs_no_luck(text, everything)
            ):
                found.append(Cure(line, text, frozenset(wrong)))
                if not only_more_room(self._text, text):
                    times = 1 if size_of_change(self._text, text) < MANY else MOVED
                    self._end = min(self._end, self._spent() + times * SECOND_S)
            elif first and len(one_wrong) == 1 and not found and len(some) < MOST_NOTED:
                some.append((line, text))
        for line, text in () if found else conditions:
            if self._late():
                break
            if self.are_right(text, wrong):
                found.append(Cure(line, text, frozenset(wrong)))
                break
        self.exhausted = not self._late()
        if not found:
            self._note_all(some, wrong, right)
        self._left -= self._spent()
        self._searched.seconds += self._spent()
        return self._in_order(found)

    def _in_order(self, found: list[Cure]) -> list[Cure]:
        """The smallest first, but a larger limit second at most: a limit need not be the mistake, but often is."""
        text = self._text
        room = [one for one in found if only_more_room(text, one.text)]
        others = [one for one in found if one not in room]
        others.sort(key=lambda one: size_of_change(text, one.text))
        return [*others[:1], *room, *others[1:]]

    def _asked(
        self, wrong: Sequence[Scenario], right: Sequence[Scenario]
    ) -> tuple[Sequence[Scenario], Sequence[Scenario]]:
        """What a copy is asked first, and then all.

        A file that is right when it was just loaded keeps something from earlier calls: they are made before, in their
        order, else a few that are right, or all. Nothing is asked first where it is right even so.
        """
        if not self.is_right_when_new(wrong[0]):
            return wrong[:1], [*wrong, *right]
        in_order = [one for one in self._answers.scenarios if one in wrong or one in right]
        for everything in (in_order, [*right[:MOST_BEFORE], *wrong, *right[MOST_BEFORE:]], [*right, *wrong]):
            found = self._right(self._text, everything, all_of_them=True)
            if len(found) < len(everything):
                return everything[: len(found) + 1], everything
        return [], in_order

    def is_right_when_new(self, scenario: Scenario) -> bool:
        """Whether the file is right in this scenario when it was just loaded."""
        if scenario not in self._when_new:
            self._when_new[scenario] = self.are_right(self._text, [scenario])
        return self._when_new[scenario]

    def _spares_others(self, text: str, component: str) -> bool:
        """Whether what is right of other components is so with another text: each has its first few scenarios asked."""
        if component not in self._others:
            names = dict.fromkeys(one.component for one in self._answers.scenarios)
            others = (self._first_right(name) for name in names if name != component)
            self._others[component] = [some for some in others if some]
        return all(self.are_right(text, some) for some in self._others[component])

    def needs_no_luck(self, text: str, asked: Sequence[Scenario]) -> bool:
        """Whether it is right with other random numbers too, if the file draws any itself."""
        if not DRAWING.search(text):
            return True
        return len(self._right(text, asked, all_of_them=True, seed=1)) == len(asked)

    def _first_right(self, component: str) -> list[Scenario]:
        """Some scenarios in which a component is right, of as many tests as can be; none if the file has not got it."""
        scenarios = scenarios_of(self._answers.scenarios, component)
        groups = [one.group for one in scenarios]
        first = [one for i, one in enumerate(scenarios) if groups.index(one.group) == i]
        order = [*first, *(one for one in scenarios if one not in first)]
        try:
            return list(islice(filter(self._answers.is_right, order), MOST_OTHERS))
        except SubmissionError:
            return []

    def hurried(self, tried: Tried, again: Tried) -> Iterator[tuple[int, str]]:
        """Changes with weights read as names say; where none helps soon, others with weights read in more ways."""
        self._most_readings = 1
        for one in tried:
            yield one
            if self._spent() > HURRIED * self._end:
                break
        self._most_readings = LIKELY_READINGS
        yield from again

    def _note_all(self, some: Tried, wrong: Sequence[Scenario], right: Sequence[Scenario]) -> None:
        """See what changes that help in part are worth, for which there is some time more."""
        self._end = max(self._end, self._spent() + NOTING_S)
        for line, text in some:
            if self._late() or len(self.partly) == MOST_PARTLY:
                break
            self._note(line, text, wrong, right)

    def _note(self, line: int, text: str, wrong: Sequence[Scenario], right: Sequence[Scenario]) -> None:
        """Remember a change that makes something right, the best one of each line."""
        cured = frozenset(self._right(text, wrong))
        before = next((one for one in self.partly if one.line == line), None)
        if before is None or len(cured) > len(before.cured):
            self.partly = [one for one in self.partly if one is not before]
            self.partly.append(Cure(line, text, cured, self.are_right(text, right)))

    def _settled(self, component: str) -> dict[Choice, int]:
        """How the submission's own weights are read, as far as that is proved; looked through once."""
        if component not in self._known:
            self._known[component] = self._answers.readings(component)
        return self._known[component]

    def _clocks(self) -> tuple[float, float, float]:
        """Seconds of work, of CPU of the process in which copies run, and by the clock."""
        return clock.seconds(), self._submission.copies_cpu_s, time.monotonic()

    def _spent(self) -> float:
        """Seconds of work since the search has begun; where nothing but time passes, part of that."""
        own, copies, passed = (now - then for now, then in zip(self._clocks(), self._begun, strict=True))
        return max(own + copies / clock.slowness(), passed / clock.slowness() / WAITING)

    def _late(self, rest: float = 0.0) -> bool:
        """Whether there is no time left. Args: rest: seconds of work that are kept for something else."""
        return self._spent() > self._end - min(rest, self._end / 4) or time.monotonic() > self._deadline

    def are_right(self, text: str, asked: Sequence[Scenario]) -> bool:
        """Whether the file is right in all these scenarios, with another text."""
        return len(self._right(text, asked, all_of_them=True)) == len(asked)

    def _right(
        self, text: str, asked: Sequence[Scenario], *, all_of_them: bool = False, seed: int = 0
    ) -> list[Scenario]:
        """The scenarios in which the file is right with another text.

        Args:
            all_of_them: up to the first wrong one.
            seed: of random numbers, beside the grading's: of the first scenario, the second has the next one; 0: the
                grading's alone.
        """
        found = self._read_so(text, asked, self._readings, all_of_them=all_of_them, seed=seed)
        if not found and self._readings:  # another change may go with another reading
            found = self._read_so(text, asked, {}, all_of_them=all_of_them, seed=seed)
        return found

    def times_to_loop(self, asked: Sequence[Scenario]) -> int:
        """How many times as long as for one scenario the loops of a copy may run, by how long the submission took:
        without an error at most so many times as long, or a copy that grows with each round takes all the time."""
        ended = [one for one in asked if self._answers.got(one).error is None]
        seconds = LONGER * sum(self._answers.seconds(one) for one in ended)
        return min(len(asked), 1 + len(asked) - len(ended) + math.ceil(seconds / LOOPING_S))

    def _read_so(
        self,
        text: str,
        asked: Sequence[Scenario],
        readings: dict[Choice, int],
        *,
        all_of_them: bool,
        seed: int,
    ) -> list[Scenario]:
        """The same. Args: readings: of weights, for those that are not known."""
        found: list[Scenario] = []
        try:
            ended = self._ending.of(text, self.times_to_loop(asked))
            copy = self._submission.edited(ended)
            if copy is None:
                return []
            known = self._settled(asked[0].component) if asked else {}
            unread = bool(asked) and self._answers.is_unread(asked[0].component)
            # of most copies no more is asked than one scenario
            most = self._most_readings if len(asked) == 1 else MOST_READINGS
            answers = Answers(
                copy,
                self._answers.subject,
                self._answers.seed,
                readings={**known, **readings},
                most_readings=1 if unread else most,
                layouts=dict(self._answers.layouts),
                experiments=unread,
            )
            with without_scripting():
                for n, scenario in enumerate(asked):
                    is_right = answers.is_right(scenario, seed=seed and seed + n)
                    # without a bias, say, it may be right, and the mistake is still there
                    got = self._answers.got(scenario)
                    before = self._answers.held(scenario) - got.idle
                    if got.lacking:  # what is there may be taken for something else
                        before = frozenset()
                    error = answers.got(scenario).error
                    by_accident = is_right and error is not None and not raises_itself(ended, error.line)
                    if is_right and not by_accident and before <= answers.held(scenario):
                        found.append(scenario)
                    elif all_of_them:
                        break
            if len(found) == len(asked) > 1:  # one result may be right with weights that are read wrongly
                self._readings |= answers.readings(found[0].component)
        except ERRORS:  # a scenario's script may expect other shapes
            pass
        return found
