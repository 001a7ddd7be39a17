"""Names a mistake in any exercise: the known mistake that gives the submission's answers, in every scenario.

The reference with one thing wrong is asked the same. Then two mistakes at once are tried, then mistakes that explain
part of what is wrong. What none of them explains is left to `conclusions`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any

import torch

from grader.core.explain import misfit
from grader.core.failures import Named, with_care
from grader.core.submission import SubmissionError
from grader.engine.bases import Bases
from grader.engine.client import Client
from grader.engine.contrast import differing, explains, picture_of, same, template
from grader.engine.local import LocalSubmission
from grader.engine.mistakes import Mistake
from grader.engine.scenario import Free, Observation, Scenario, observe
from grader.engine.work_clock import clock

BY_CHANCE = frozenset({"train mode", "dropout in train mode"})  # traits of scenarios with random draws
LOOSE = 3.0  # a mistake's own rounding is on top of the submission's
PAIR_ANSWERS = 1600  # asked for to find two mistakes at once: those that are found took 1,200 at most
NEAR_S = 1.5  # of the clock of work, for mistakes that each explain a part, where answers are dear
SPREAD = 8  # wrong scenarios that are looked at to see which mistakes are near


@dataclass
class Findings:
    """What a submission answered to one component's scenarios, what would have been right, and where it was wrong.

    `random`: an answer depends on the state of the random generators, where nothing asked for chance.
    """

    scenarios: Sequence[Scenario]
    got: Sequence[Observation]
    right: Sequence[Observation]
    wrong: Sequence[int]
    random: bool = False

    def order(self) -> list[int]:
        """Wrong ones first: they tell candidates apart soonest."""
        return [*self.wrong, *(i for i in range(len(self.scenarios)) if i not in set(self.wrong))]

    def map_of(self, index: int) -> str:
        """A picture of what a scenario gave beside what was right, "" if it has none."""
        return picture_of(self.scenarios[index], self.right[index], self.got[index])


@dataclass(frozen=True)
class Account:
    """A mistake, the wrong scenarios that it explains, and one sentence of proof.

    `steps`: of the exercise, with this mistake, where it gives all that the submission gives in these scenarios.
    """

    named: Named
    scenarios: frozenset[int]
    proof: str
    steps: Any = None


class Candidate:
    """Code with one mistake in it, or two, and its answers.

    Args:
        base: the number of the right base below it.
        first: the same mistake on the first base: its answers are taken over where they cannot differ.
    """

    def __init__(
        self,
        mistakes: tuple[Mistake[Any], ...],
        steps: Any,
        known: Known,
        base: int = 0,
        first: Candidate | None = None,
    ) -> None:
        self.mistakes, self.steps, self._known, self._base, self._first = mistakes, steps, known, base, first
        self._answers: dict[tuple[Scenario, Free], Observation] = {}
        self._unlike: dict[tuple[Scenario, Free], Set[int]] = {}  # bases on which it would have run otherwise

    @cached_property
    def _code(self) -> LocalSubmission:
        return LocalSubmission(self._known.namespace(self.steps))

    def answer(self, scenario: Scenario, free: Free) -> Observation:
        """What it gives where a submission has made these choices."""
        key = scenario, free
        if self._first is not None and self._base not in self._first._unlike.get(key, {self._base}):
            return self._first._answers[key]
        if key not in self._answers:
            self._known.asked += 1
            self._known.bases.begin()
            self._answers[key] = self._run(scenario, free)
            self._unlike[key] = self._known.bases.unlike
        return self._answers[key]

    def is_alike(self, scenario: Scenario, free: Free) -> bool:
        """Whether it does the same on all bases."""
        self.answer(scenario, free)
        return not self._unlike[scenario, free]

    def is_random(self, scenario: Scenario, free: Free) -> bool:
        """Whether it gives something else with another seed of the random generators."""
        again = self._run(scenario, free, seed=1)
        return not same(scenario, self.answer(scenario, free), again, loose=LOOSE)

    def _run(self, scenario: Scenario, free: Free, seed: int = 0) -> Observation:
        with torch.random.fork_rng(devices=[]):
            seed += self._known.seed
            client = Client(self._code, rounding=scenario.dtype, seed=seed, free=free or None)
            try:
                return observe(scenario.ask(client))
            except SubmissionError as error:
                return Observation(error=error)
            finally:
                client.close()


class Known:
    """The known mistakes of an exercise on top of its right bases, and what they answer with one seed.

    Args:
        bases, namespace: see `grader.engine.subject.Subject`.

    Attributes:
        asked: answers that had to be computed so far.
        right: the first base itself.
    """

    def __init__(
        self, bases: Sequence[Any], namespace: Callable[[Any], Mapping[str, Any]], seed: int
    ) -> None:
        self.bases, self.namespace, self.seed, self.asked = Bases(bases), namespace, seed, 0
        self._singles: dict[tuple[str, int], list[Candidate]] = {}
        self.right = Candidate((), self.bases.steps[0], self)

    def singles(self, mistake: Mistake[Any], base: int) -> list[Candidate]:
        """One mistake in all variants, on one of the bases."""
        key = mistake.id, base
        if key not in self._singles:
            ways = mistake.variants(self.bases.steps[base])
            first: Sequence[Candidate | None] = self.singles(mistake, 0) if base else []
            if len(first) != len(ways):
                first = [None] * len(ways)
            self._singles[key] = [
                Candidate((mistake,), steps, self, base, same)
                for steps, same in zip(ways, first, strict=True)
            ]
        return self._singles[key]


class Namer:
    """Looks for the mistakes behind one component's findings.

    Args:
        mistakes: that the component can have, the likeliest first.
        deadline: of `time.monotonic`. What takes longer than anything known is given up then.
        most_bases: on top of how many right bases mistakes are looked for; None for all.
    """

    def __init__(
        self,
        findings: Findings,
        mistakes: Sequence[Mistake[Any]],
        known: Known,
        deadline: float = math.inf,
        most_bases: int | None = None,
    ) -> None:
        self.findings, self.mistakes, self._known, self._deadline = findings, mistakes, known, deadline
        self._bases = range(len(known.bases.steps))[:most_bases]

    def alone(self) -> list[Account]:
        """Return the one mistake that gives all the answers, or all of those on one path; or nothing."""
        return self._single(self.findings.order()) or self._on_one_path()

    def as_before(self) -> list[Account]:
        """Return the one mistake that gives all the wrong answers, whatever it gives where they are right.

        For mistakes that are proved in what the component builds on: they show in it, if not everywhere.
        """
        if found := self.alone():
            return found
        for base in self._bases:
            same = self._first(self._singles(base), self.findings.wrong)
            if same is not None:
                return [Account(same.mistakes[0].named, frozenset(self.findings.wrong), "", same.steps)]
        return []

    def alone_where_finite(self) -> list[Account]:
        """Return the one mistake that gives all the finite answers, if most of the wrong ones are."""
        every = self.findings.order()
        finite = [
            i for i in every if all(bool(x.isfinite().all()) for x in self.findings.got[i].values.values())
        ]
        most = 2 * len(set(finite) & set(self.findings.wrong)) > len(self.findings.wrong)
        return self._single(finite) if most and len(finite) < len(every) else []

    def at_random(self) -> list[Account]:
        """Return the one mistake that is wrong where the submission is, and random there too; or nothing."""
        shown = self.findings.wrong[0]
        scenario, free = self.findings.scenarios[shown], self.findings.right[shown].free
        for one in self._singles(0):
            alike = all(self._is_wrong_alike(one, i) for i in self.findings.order())
            if alike and one.is_random(scenario, free):
                return [Account(one.mistakes[0].named, frozenset(self.findings.wrong), "")]
        return []

    def _is_wrong_alike(self, candidate: Candidate, index: int) -> bool:
        """Whether a candidate gives an answer that is wrong where the submission's is, and right where that is."""
        answer = self._answer(candidate, index)
        wrong = not same(self.findings.scenarios[index], self.findings.right[index], answer)
        return answer.error is None and wrong == (index in self._wrong)

    def _on_one_path(self) -> list[Account]:
        """The one mistake that gives the answers wherever a condition is met, if all is right where it is not."""
        wrong = set(self.findings.wrong)
        if all(self.findings.got[i].error is not None for i in wrong):
            return []  # errors are easily alike
        paths = [(words, those) for words, those in self._paths() if wrong <= those]
        for base in self._bases if paths else ():
            for candidate in self._singles(base):
                if not all(self._matches(candidate, i) for i in self.findings.wrong):
                    continue
                if not self._raises_alike(candidate):
                    continue
                for words, those in paths:
                    if all(self._matches(candidate, i) for i in those - wrong):
                        named = candidate.mistakes[0].named
                        proof = (
                            f"A correct implementation with only this mistake gives the same results as your code in "
                            f"all {len(those)} cases {words}; all others are right."
                        )
                        named = replace(named, text=f"Only {words}: {named.text}")
                        return [Account(named, frozenset(wrong), proof, candidate.steps)]
        return []

    def _paths(self) -> Iterator[tuple[str, set[int]]]:
        """Conditions that a part of the scenarios meets, in words, and which do."""
        every = range(len(self.findings.scenarios))
        chosen = [dict(one.chosen) for one in self.findings.right]
        choices = sorted({choice for one in chosen for choice in one.items()}, key=repr)
        for name, value in choices:
            yield f"with {name}={value!r}", {i for i in every if chosen[i].get(name) == value}
        for name, value in choices:
            those = {i for i in every if chosen[i].get(name) != value}
            others = [f"{one}={other!r}" for one, other in choices if one == name and other != value]
            default = " (also by default)" if any(name not in chosen[i] for i in those) else ""
            words = f"with {' or '.join(others)}{default}" if others else f"without {name}={value!r}"
            yield words, those
        traits = [{f"with {trait}" for trait in one.traits} for one in self.findings.scenarios]
        for words in sorted(set().union(*traits)):
            yield words, {i for i in every if words in traits[i]}

    def several(self, seconds: float) -> list[Account]:
        """Two mistakes at once, one where numbers are finite, or several in parts; nothing if none was recognised.

        Args:
            seconds: of the clock of work, for two at once.
        """
        if all(self.findings.got[i].error is not None for i in self.findings.wrong):
            return []  # two errors are easily alike
        return self._two_at_once(seconds) or self.alone_where_finite() or self._in_parts()

    def _single(self, order: Sequence[int]) -> list[Account]:
        first = order[:1]
        for base in self._bases:
            if base == 1:
                order = self._alike_first(order)
            found = self._first(self._singles(base, first if base else ()), order)
            if found is not None:
                return [self._whole(found, order)]
        return []

    def _alike_first(self, order: Sequence[int]) -> Sequence[int]:
        """The same with a scenario first in which all bases do the same: what fails there on one fails on all."""
        right = self._known.right
        for i in order:
            scenario, free = self.findings.scenarios[i], self.findings.right[i].free
            if right.is_alike(scenario, free):
                return [i, *(other for other in order if other != i)]
        return order

    def _singles(self, base: int, raising: Sequence[int] = ()) -> Iterator[Candidate]:
        """The mistakes on one base. Args: raising: scenarios; where one raised, those that do so on the first base."""
        raised = [i for i in raising if self.findings.got[i].error is not None]
        for mistake in self.mistakes:
            first = self._known.singles(mistake, 0) if raised else []
            if not raised or any(self._answer(one, i).error is not None for one in first for i in raised):
                yield from self._known.singles(mistake, base)

    def _first(self, candidates: Iterable[Candidate], order: Sequence[int]) -> Candidate | None:
        return next(filter(self._raises_alike, self._matching(candidates, order)), None)

    def _raises_alike(self, candidate: Candidate) -> bool:
        """Where the submission raises, and nothing should, whether most messages are the candidate's but for numbers.

        Errors of one type have many causes.
        """
        errors = [(i, self.findings.got[i].error) for i in self.findings.wrong]
        raised = [(i, e) for i, e in errors if e is not None and self.findings.right[i].error is None]
        alike = sum(
            answer is not None and template(answer.message) == template(error.message)
            for i, error in raised
            for answer in [self._answer(candidate, i).error]
        )
        return len(raised) < len(errors) or 2 * alike >= len(raised)

    def _matching(self, candidates: Iterable[Candidate], order: Sequence[int]) -> Iterator[Candidate]:
        firm = [i for i in order if not self.findings.scenarios[i].traits & BY_CHANCE]
        if self._wrong.isdisjoint(firm):
            yield from (c for c in candidates if all(self._matches(c, i) for i in order))
            return
        # What is measured of random draws says nothing where values are wrong: then it only has to be wrong as well.
        drawn = [i for i in order if i not in firm]
        for one in candidates:
            if all(self._matches(one, i) for i in firm) and all(
                self._matches(one, i) or self._are_both_wrong(one, i) for i in drawn
            ):
                yield one

    def _are_both_wrong(self, candidate: Candidate, index: int) -> bool:
        scenario, right = self.findings.scenarios[index], self.findings.right[index]
        answer, got = self._answer(candidate, index), self.findings.got[index]
        is_broken = answer.error is not None or got.error is not None
        return not is_broken and index in self._wrong and not same(scenario, right, answer)

    def _matches(self, candidate: Candidate, index: int) -> bool:
        """Whether a candidate gives the submission's answer; where that is wrong, the candidate's must be wrong too."""
        scenario, answer, got = (
            self.findings.scenarios[index],
            self._answer(candidate, index),
            self.findings.got[index],
        )
        if not same(scenario, answer, got, loose=LOOSE):
            return False
        if (
            got.error is not None
            and misfit(got.error)
            and not (answer.error is not None and misfit(answer.error))
        ):
            return False  # none of the code ran, and most mistakes are in what runs
        if index not in self._wrong:
            return True
        right = self.findings.right[index]
        return not same(scenario, right, answer) and explains(
            differing(scenario, right, got), right, answer, got
        )

    @cached_property
    def _wrong(self) -> frozenset[int]:
        return frozenset(self.findings.wrong)

    def _answer(self, candidate: Candidate, index: int) -> Observation:
        return candidate.answer(self.findings.scenarios[index], self.findings.right[index].free)

    def _whole(self, found: Candidate, order: Sequence[int]) -> Account:
        cases = sum(self._matches(found, i) for i in order)
        some = "all" if cases == len(order) else f"{cases} of"
        finite = " without NaN or infinity" if len(order) < len(self.findings.scenarios) else ""
        proof = (
            f"A correct implementation with only this mistake gives the same results as your code in {some} "
            f"{len(order)} cases{finite}."
        )
        return Account(found.mistakes[0].named, frozenset(self.findings.wrong), proof, found.steps)

    def _two_at_once(self, seconds: float) -> list[Account]:
        """Pairs around a mistake that explains a wrong scenario alone, on top of each base; not for ever."""
        end = clock.seconds() + seconds
        near = self._near  # whose answers do not count
        order = self.findings.order()
        for akin, answers in ((True, PAIR_ANSWERS // 3), (False, PAIR_ANSWERS)):
            limit = self._known.asked + answers
            for pair, odd in (
                (one, at)
                for first in self._starts(near)
                for at in [self._unexplained(first)]
                for one in self._pairs(first, at, akin=akin)
            ):
                if self._known.asked > limit or clock.seconds() > end or time.monotonic() > self._deadline:
                    break
                if self._first([pair], [odd, *order]) is not None:
                    return self._pair(pair)
        return []

    def _unexplained(self, candidate: Candidate) -> int:
        """A wrong scenario that the candidate alone does not explain: a second mistake must."""
        order = self.findings.order()
        return next((i for i in order if i in self._wrong and not self._matches(candidate, i)), order[0])

    def _starts(self, near: Sequence[Candidate]) -> Iterator[Candidate]:
        yield from near
        ids = {c.mistakes[0].id for c in near}
        for base in self._bases[1:]:
            yield from (c for c in self._singles(base) if c.mistakes[0].id in ids)

    @cached_property
    def _near(self) -> list[Candidate]:
        """Mistakes that explain one of a few wrong scenarios: to ask about all of them takes minutes.

        The scenarios, fewer where answers are dear, are one of each test, the last: the most special one. Those
        mistakes come first that would not show in scenarios that are right.
        """
        wrong = self.findings.wrong
        last = {self.findings.scenarios[i].group: i for i in wrong}
        others = [i for i in wrong if i not in last.values()]
        some = [*list(last.values())[:SPREAD], *others[:: max(1, len(others) // SPREAD)]][:SPREAD]
        fine = [i for i in range(len(self.findings.scenarios)) if i not in self._wrong]
        fine = fine[:: max(1, -(-len(fine) // SPREAD))]
        left, found, end = list(self._singles(0)), list[Candidate](), clock.seconds() + NEAR_S
        for i in some:
            in_time = takewhile(lambda _: clock.seconds() < end, left)
            those = [c for c in in_time if self._matches(c, i)]
            found += those
            left = [c for c in left if c not in those]
        return sorted(found, key=lambda c: sum(not self._matches(c, i) for i in fine))

    def _pairs(self, first: Candidate, odd: int, *, akin: bool) -> Iterator[Candidate]:
        """A mistake and others: made after it, and for one that is near before it too.

        Args:
            odd: a scenario that the first one does not explain: the other one alone is wrong there.
            akin: those of its own theme, which are in one file; else all others.
        """
        mine = first.mistakes[0]
        near = any(first is one for one in self._near)
        for other in self.mistakes:
            if other is mine or (other.patch.__module__ == mine.patch.__module__) != akin:
                continue
            if not any(self._shows(one, odd) for one in self._known.singles(other, 0)):
                continue
            for steps in other.variants(first.steps):
                yield Candidate((mine, other), steps, self._known)
            for before in self._known.singles(other, 0) if near else ():
                for steps in mine.variants(before.steps):
                    yield Candidate((other, mine), steps, self._known)

    def _pair(self, pair: Candidate) -> list[Account]:
        first, second = pair.mistakes
        proof = (
            "A correct implementation with only these two mistakes gives the same results as your code in all "
            f"{len(self.findings.scenarios)} cases: {first.id} and {second.id}."
        )
        wrong, shown = frozenset(self.findings.wrong), [self._shown_by(one) for one in pair.mistakes]
        rest = wrong.difference(*shown)  # another variant shows there
        return [
            Account(one.named, (own | rest) or wrong, proof, pair.steps)
            for one, own in zip(pair.mistakes, shown, strict=True)
        ]

    def _shown_by(self, mistake: Mistake[Any]) -> frozenset[int]:
        """Wrong scenarios in which this mistake alone would show."""
        alone = self._known.singles(mistake, 0)[0]
        return frozenset(i for i in self.findings.wrong if self._shows(alone, i))

    def _shows(self, candidate: Candidate, index: int) -> bool:
        """Whether a candidate gives a wrong answer."""
        right = self.findings.right[index]
        return not same(self.findings.scenarios[index], right, self._answer(candidate, index))

    def _in_parts(self) -> list[Account]:
        """Mistakes that each explain several of the wrong scenarios, and contradict nothing that is right."""
        left, unlike, found = set(self.findings.wrong), set[int](), []
        while left:
            best = max(self._near, key=lambda c: self._value(c, left), default=None)
            covered = {i for i in left if best is not None and self._matches(best, i)}
            shown = left & self._shown_by(best.mistakes[0]) if best is not None else set[int]()
            if (
                best is None
                or len(covered) < max(2, len(self.findings.wrong) // 4, len(shown - covered))
                or self._value(best, left) <= 0
            ):
                break
            proof = (
                f"A correct implementation with only this mistake gives the same results as your code in "
                f"{len(covered)} of the {len(self.findings.wrong)} failed cases."
            )
            unlike |= shown - covered
            covered |= shown
            found.append(Account(best.mistakes[0].named, frozenset(covered), proof, best.steps))
            left -= covered
        return [replace(one, named=with_care(one.named)) for one in found] if unlike else found

    def _value(self, candidate: Candidate, left: set[int]) -> int:
        """Wrong scenarios explained by numbers, less those that are right although the mistake would show.

        Zeros alone have many causes.
        """
        got = self.findings.got
        explained = [
            i for i in left if got[i].error is None and not _is_zero(got[i]) and self._matches(candidate, i)
        ]
        if not explained:
            return 0
        fine = [i for i in range(len(self.findings.scenarios)) if i not in self.findings.wrong]
        return len(explained) - sum(not self._matches(candidate, i) for i in fine)


def _is_zero(got: Observation) -> bool:
    """Whether there are numbers, and all of them are 0."""
    return bool(got.values) and not any(bool(x.any()) for x in got.values.values())
