"""Names a mistake in any exercise: the known mistake that gives the submission's answers, in every scenario.

The reference with one thing wrong is asked the same. Then two mistakes at once are tried, then mistakes that explain
part of what is wrong. What none of them explains is left to `conclusions`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch

from grader.core.failures import Named, with_care
from grader.core.submission import SubmissionError
from grader.engine.contrast import same
from grader.engine.desk import Desk
from grader.engine.local import LocalSubmission
from grader.engine.mistakes import Mistake
from grader.engine.scenario import Scenario, Seen, seen

LOOSE = 3.0  # a mistake's own rounding is on top of the submission's
PAIR_ANSWERS = 4000  # asked for to find two mistakes at once: a few seconds, and the same on any machine
SPREAD = 8  # wrong scenarios that are looked at to see which mistakes are near


@dataclass(frozen=True)
class Findings:
    """What a submission answered to one component's scenarios, what would have been right, and where it was wrong."""

    scenarios: Sequence[Scenario]
    got: Sequence[Seen]
    right: Sequence[Seen]
    wrong: Sequence[int]

    def order(self) -> list[int]:
        """Wrong ones first: they tell candidates apart soonest."""
        return [*self.wrong, *(i for i in range(len(self.scenarios)) if i not in set(self.wrong))]


@dataclass(frozen=True)
class Account:
    """A mistake, the wrong scenarios that it explains, and one sentence of proof."""

    named: Named
    scenarios: frozenset[int]
    proof: str


@dataclass(eq=False)
class _Candidate:
    mistakes: tuple[Mistake[Any], ...]
    steps: Any
    code: LocalSubmission
    answers: dict[int, Seen] = field(default_factory=dict)


class Namer:
    """Looks for the mistakes behind one component's findings. See `grader.engine.inquiry.Subject` for the arguments.

    Args:
        deadline: of `time.monotonic`. What takes longer than anything known is given up then.
    """

    def __init__(
        self,
        findings: Findings,
        mistakes: Iterable[Mistake[Any]],
        bases: Sequence[Any],
        namespace: Callable[[Any], Mapping[str, Any]],
        seed: int,
        deadline: float = math.inf,
    ) -> None:
        self._deadline = deadline
        self.findings, self._bases, self._namespace, self._seed = findings, bases, namespace, seed
        component = findings.scenarios[0].component if findings.scenarios else ""
        self.mistakes = [m for m in mistakes if not m.parts or component in m.parts]
        self._singles: list[list[_Candidate]] = []
        self._asked = 0

    def accounts(self) -> list[Account]:
        """The mistakes, or nothing if none was recognised."""
        if not self.findings.wrong:
            return []
        for base in self._bases:
            self._singles.append(
                [self._candidate((m,), steps) for m in self.mistakes for steps in m.variants(base)]
            )
            found = self._first(self._singles[-1])
            if found is not None:
                return [self._whole(found)]
        return self._two_at_once() or self._in_parts()

    def _candidate(self, mistakes: tuple[Mistake[Any], ...], steps: Any) -> _Candidate:
        return _Candidate(mistakes, steps, LocalSubmission(self._namespace(steps)))

    def _first(self, candidates: Iterable[_Candidate]) -> _Candidate | None:
        order = self.findings.order()
        return next((c for c in candidates if all(self._matches(c, i) for i in order)), None)

    def _matches(self, candidate: _Candidate, index: int) -> bool:
        scenario = self.findings.scenarios[index]
        return same(scenario, self._answer(candidate, index), self.findings.got[index], loose=LOOSE)

    def _answer(self, candidate: _Candidate, index: int) -> Seen:
        if index not in candidate.answers:
            self._asked += 1
            candidate.answers[index] = self._run(candidate, self.findings.scenarios[index])
        return candidate.answers[index]

    def _run(self, candidate: _Candidate, scenario: Scenario) -> Seen:
        with torch.random.fork_rng(devices=[]):
            desk = Desk(candidate.code, rounding=scenario.dtype, seed=self._seed)
            try:
                return seen(scenario.ask(desk))
            except SubmissionError as error:
                return Seen(error=error)
            finally:
                desk.close()

    def _whole(self, found: _Candidate) -> Account:
        total = len(self.findings.scenarios)
        proof = f"Your results equal those of the reference with just this mistake in all {total} cases."
        return Account(found.mistakes[0].named, frozenset(self.findings.wrong), proof)

    def _two_at_once(self) -> list[Account]:
        """Pairs, first around a mistake that explains a wrong scenario alone; not for ever."""
        singles, _ = self._singles[0], self._near
        limit = self._asked + PAIR_ANSWERS
        for first in [*self._near, *(c for c in singles if c not in self._near)]:
            for pair in self._pairs(first):
                if self._asked > limit or time.monotonic() > self._deadline:
                    return []
                if self._first([pair]) is not None:
                    return self._pair(pair)
        return []

    @cached_property
    def _near(self) -> list[_Candidate]:
        """Mistakes that explain one of a few wrong scenarios: to ask about all of them takes minutes."""
        wrong = self.findings.wrong
        some = wrong[:: max(1, len(wrong) // SPREAD)]
        return [c for c in self._singles[0] if any(self._matches(c, i) for i in some)]

    def _pairs(self, first: _Candidate) -> Iterator[_Candidate]:
        for other in self.mistakes:
            if other is not first.mistakes[0]:
                for steps in other.variants(first.steps):
                    yield self._candidate((*first.mistakes, other), steps)

    def _pair(self, pair: _Candidate) -> list[Account]:
        first, second = pair.mistakes
        proof = (
            "Your results equal those of the reference with these two mistakes in all "
            f"{len(self.findings.scenarios)} cases: {first.id} and {second.id}."
        )
        wrong = frozenset(self.findings.wrong)
        return [Account(m.named, self._shown_by(m) or wrong, proof) for m in pair.mistakes]

    def _shown_by(self, mistake: Mistake[Any]) -> frozenset[int]:
        """Wrong scenarios in which this mistake alone would show."""
        alone = next(c for c in self._singles[0] if c.mistakes == (mistake,))
        return frozenset(
            i
            for i in self.findings.wrong
            if not same(self.findings.scenarios[i], self.findings.right[i], self._answer(alone, i))
        )

    def _in_parts(self) -> list[Account]:
        """Mistakes that each explain several of the wrong scenarios, and contradict nothing that is right."""
        left, unlike, found = set(self.findings.wrong), set[int](), []
        while left:
            best = max(self._near, key=lambda c: self._value(c, left), default=None)
            covered = {i for i in left if best is not None and self._matches(best, i)}
            if (
                best is None
                or len(covered) < max(2, len(self.findings.wrong) // 4)
                or self._value(best, left) <= 0
            ):
                break
            proof = (
                f"Your results equal those of the reference with just this mistake in {len(covered)} of the "
                f"{len(self.findings.wrong)} cases that are wrong."
            )
            unlike |= left & self._shown_by(best.mistakes[0]) - covered
            covered |= left & self._shown_by(best.mistakes[0])
            found.append(Account(best.mistakes[0].named, frozenset(covered), proof))
            left -= covered
        return [replace(one, named=with_care(one.named)) for one in found] if unlike else found

    def _value(self, candidate: _Candidate, left: set[int]) -> int:
        """Wrong scenarios explained by numbers, less those that are right although the mistake would show."""
        explained = [i for i in left if self._matches(candidate, i)]
        if not any(self.findings.got[i].error is None for i in explained):
            return 0
        fine = [i for i in range(len(self.findings.scenarios)) if i not in self.findings.wrong]
        return len(explained) - sum(not self._matches(candidate, i) for i in fine)
