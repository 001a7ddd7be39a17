"""Names a mistake: the known mistake that gives the submission's results, for all the evidence there is.

The reference with one thing wrong is run on the same weights and inputs. What equals the submission in
every case, also where it raises or gives NaN, is the diagnosis. Then two mistakes at once are tried, and
mistakes that explain part of the cases. What none of them explains is left to `properties`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace

import torch

from grader.core.failures import Named, with_care
from grader.engine.cases import Case, Observation
from grader.engine.compare import differences, equal
from grader.engine.mistakes import Mistake, Part
from grader.engine.subjects import Patched
from grader.exercises.attention.reference import BASES, REFERENCE, Steps

LOOSE = 3.0  # a mistake's own rounding is on top of the submission's
PAIR_CASES = 20_000  # looked at to find two mistakes at once: a few seconds, and the same on any machine
SAMPLE = 6  # deviating cases that are looked at to find a mistake to start a pair from


def expected(case: Case) -> Observation:
    """What the reference gives, computed in float64, in the dtype that was asked for.

    It is an error where the case's weights are not those of four projections.
    """
    seen = Patched(REFERENCE).run(case.exact())
    values = {n: v.to(case.dtype) if _carries_dtype(v) else v for n, v in seen.values.items()}
    return replace(seen, values=values)


def _carries_dtype(x: torch.Tensor) -> bool:
    return x.is_floating_point() and x.dim() > 0


@dataclass
class Evidence:
    """What a submission answered to the cases of one part, and what would have been right."""

    part: Part
    cases: Sequence[Case]
    got: Sequence[Observation]
    right: Sequence[Observation]
    deviating: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.deviating = [
            i for i, case in enumerate(self.cases) if not equal(case, self.right[i], self.got[i])
        ]

    def order(self) -> list[int]:
        """Deviating cases first: they tell candidates apart soonest."""
        return self.deviating + [i for i in range(len(self.cases)) if i not in set(self.deviating)]


@dataclass(frozen=True)
class Explanation:
    """A mistake, and what it explains.

    Attributes:
        named: the mistake.
        cases: indices of the deviating cases that it explains.
        proof: one sentence: what equals what, and how often.
        picture: in text, or "".
    """

    named: Named
    cases: frozenset[int]
    proof: str
    picture: str = ""


@dataclass(eq=False)
class Candidate:
    """One way of writing one mistake (or two), and the cases in which it gave the submission's results."""

    mistakes: tuple[Mistake[Steps], ...]
    steps: Steps
    equal_in: dict[int, bool] = field(default_factory=dict)


class Diagnostician:
    """Looks for the mistakes behind one part's evidence."""

    def __init__(
        self,
        evidence: Evidence,
        mistakes: Iterable[Mistake[Steps]],
        *,
        first: Collection[str] = (),
        thorough: bool = True,
        deadline: float = math.inf,
    ) -> None:
        """
        Args:
            first: ids to try before the others (what another part of the submission has already).
            thorough: whether to look for more than one mistake at once.
            deadline: of `time.monotonic`: the search for two at once ends then.
        """
        self.evidence, self.thorough, self._deadline = evidence, thorough, deadline
        self.mistakes = [m for m in mistakes if not m.parts or evidence.part in m.parts]
        self.mistakes.sort(key=lambda m: m.id not in first)
        self._known: dict[int, list[Candidate]] = {}
        self._asked = 0

    def explain(self) -> list[Explanation]:
        """The mistakes, or nothing if none was recognised."""
        if not self.evidence.deviating:
            return []
        for number in range(len(BASES)):
            found = self._first(self._singles(number), self.evidence.order())
            if found is not None:
                return [self._whole(found)]
        finite = [i for i in self.evidence.order() if self._finite(i)]
        if 2 * len(set(finite) & set(self.evidence.deviating)) > len(self.evidence.deviating):
            for number in range(len(BASES)):
                found = self._first(self._singles(number), finite)
                if found is not None:
                    return [self._whole(found, len(finite))]
        if not self.thorough:
            return []
        anchors = self._anchors()
        return self._two_at_once(anchors) or self._in_parts(anchors)

    def _singles(self, base: int) -> list[Candidate]:
        """All mistakes alone, in all variants, on one of the right bases."""
        if base not in self._known:
            self._known[base] = [
                Candidate((m,), steps) for m in self.mistakes for steps in m.variants(BASES[base])
            ]
        return self._known[base]

    def _first(self, candidates: Iterable[Candidate], order: Sequence[int]) -> Candidate | None:
        return next((c for c in candidates if all(self._matches(c, i) for i in order)), None)

    def _matches(self, candidate: Candidate, index: int) -> bool:
        if index not in candidate.equal_in:
            self._asked += 1
            case = self.evidence.cases[index]
            seen = Patched(candidate.steps).run(case)
            candidate.equal_in[index] = equal(case, seen, self.evidence.got[index], loose=LOOSE)
        return candidate.equal_in[index]

    def _finite(self, index: int) -> bool:
        values = self.evidence.got[index].values.values()
        return all(bool(v.isfinite().all()) for v in values)

    def _whole(self, found: Candidate, cases: int | None = None) -> Explanation:
        total = len(self.evidence.cases)
        where = (
            f"in all {total} cases"
            if cases is None
            else f"in all {cases} of {total} cases that give finite numbers"
        )
        proof = f"Your results equal those of the reference with just this mistake {where}."
        return Explanation(found.mistakes[0].named, frozenset(self.evidence.deviating), proof)

    def _anchors(self) -> list[Candidate]:
        """Mistakes that explain at least one of a few deviating cases alone."""
        deviating = self.evidence.deviating
        sample = deviating[:: max(1, len(deviating) // SAMPLE)]
        return [c for c in self._singles(0) if any(self._matches(c, i) for i in sample)]

    def _two_at_once(self, anchors: list[Candidate]) -> list[Explanation]:
        """Pairs: first around a mistake that explains a case alone, then all; not for ever."""
        limit = self._asked + PAIR_CASES
        order = self.evidence.order()
        others = [Candidate((m,), m.variants(REFERENCE)[0]) for m in self.mistakes]
        for first in [*anchors, *others]:
            for pair in self._pairs(first):
                if self._asked > limit or time.monotonic() > self._deadline:
                    return []
                if all(self._matches(pair, i) for i in order):
                    return self._pair(pair)
        return []

    def _pairs(self, first: Candidate) -> Iterator[Candidate]:
        for other in self.mistakes:
            if other is not first.mistakes[0]:
                for steps in other.variants(first.steps):
                    if _joined(first.steps, steps):
                        yield Candidate((first.mistakes[0], other), steps)

    def _pair(self, pair: Candidate) -> list[Explanation]:
        proof = (
            "Your results equal those of the reference with these two mistakes in all "
            f"{len(self.evidence.cases)} cases: {pair.mistakes[0].id} and {pair.mistakes[1].id}."
        )
        return [
            Explanation(
                m.named,
                frozenset(self._shown_by(m.variants(REFERENCE)[0])) or frozenset(self.evidence.deviating),
                proof,
            )
            for m in pair.mistakes
        ]

    def _shown_by(self, steps: Steps) -> list[int]:
        """Deviating cases in which this mistake alone would show."""
        return [
            i
            for i in self.evidence.deviating
            if not equal(
                self.evidence.cases[i], self.evidence.right[i], Patched(steps).run(self.evidence.cases[i])
            )
        ]

    def _in_parts(self, singles: list[Candidate]) -> list[Explanation]:
        """Mistakes that each explain several of the deviating cases (one branch of the code, say)."""
        left, unlike, found = set(self.evidence.deviating), set[int](), []
        while left:
            best = max(singles, key=lambda c: sum(self._matches(c, i) for i in left), default=None)
            covered = {i for i in left if best is not None and self._matches(best, i)}
            if (
                best is None
                or not self._tenable(best, covered)
                or len(covered) < max(2, len(self.evidence.deviating) // 4)
            ):
                break
            proof = (
                f"Your results equal those of the reference with just this mistake in {len(covered)} of the "
                f"{len(self.evidence.deviating)} cases that are wrong."
            )
            # Where the mistake shows as well, but in other numbers, it is still the one to mend first.
            shown = left & set(self._shown_by(best.steps))
            unlike |= shown - covered
            covered |= shown
            found.append(Explanation(best.mistakes[0].named, frozenset(covered), proof))
            left -= covered
        return [replace(one, named=with_care(one.named)) for one in found] if unlike else found

    def _tenable(self, candidate: Candidate, covered: Collection[int]) -> bool:
        """Whether what is right allows to blame a mistake for some of what is wrong.

        What is wrong with masks only is no mistake that would show without one; and that code raises the
        same error says little, so nothing at all may speak against a mistake that rests on errors alone.
        Of the plain numbers, it has to explain all or none, or those that one trait tells from the rest.
        """
        by_values = any(self.evidence.got[i].form != "error" for i in covered)
        masked = all(self.evidence.cases[i].mask is not None for i in self.evidence.deviating)
        fine = [i for i in range(len(self.evidence.cases)) if i not in self.evidence.deviating]
        if not self._branch(covered):
            return False
        against = [i for i in fine if not by_values or (masked and self.evidence.cases[i].mask is None)]
        return all(self._matches(candidate, i) for i in against)

    def _branch(self, covered: Collection[int]) -> bool:
        plain = {
            i
            for i in self.evidence.deviating
            if self.evidence.cases[i].group == "numbers" and self.evidence.got[i].form != "error"
        }
        traits = {i: self.evidence.cases[i].traits for i in plain}
        chosen = plain & set(covered)
        having = [{i for i in plain if t in traits[i]} for t in frozenset().union(*traits.values())]
        return chosen in (set(), plain, *having, *(plain - some for some in having))


def _joined(first: Steps, both: Steps) -> bool:
    """Whether the second mistake left the first one's steps in place, or built on them."""
    changed = [f.name for f in fields(Steps) if getattr(first, f.name) is not getattr(REFERENCE, f.name)]
    return any(getattr(both, name) is getattr(first, name) for name in changed)


def differing(case: Case, right: Observation, got: Observation) -> list[str]:
    """What differs between two observations of one case, as names; "form" and "changed" included."""
    if equal(case, right, got):
        return []
    if right.form != got.form:
        return ["form"]
    names = differences(case, right, got)
    if any(right.values[n].shape != got.values[n].shape for n in names if n in got.values):
        names = ["shape", *names]
    return [*(["changed"] if right.changed != got.changed else []), *names]
