"""One submission's exam in any exercise that is asked by scenarios: asks, compares, and names what is wrong."""

from __future__ import annotations

import contextlib
import functools
import math
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from grader.catalog import get_exercises, get_mistakes
from grader.core.failures import Failed, Named, Unexplained
from grader.core.submission import Submission, SubmissionError
from grader.engine.conclusions import conclude
from grader.engine.contrast import contrast, differing, same
from grader.engine.desk import Desk
from grader.engine.devices import check_devices
from grader.engine.local import LocalSubmission
from grader.engine.mistakes import Mistake
from grader.engine.naming import Account, Findings, Namer
from grader.engine.readings import Reading
from grader.engine.scenario import Scenario, Seen, scenarios_of, seen

OTHER_READINGS = 3  # of the weights, in which the cause of what is wrong is looked for

Namespace = Callable[[Any], Mapping[str, Any]]
Conclude = Callable[[Findings], Named | None]


@dataclass(frozen=True, eq=False)
class Subject:
    """What an exercise's suite brings along.

    Attributes:
        scenarios: makes all scenarios from a seed, in the order of the tests.
        bases: right ways to do it (`Steps` of the exercise's reference), the reference first; mistakes are tried on
            top of each.
        namespace: what a file written with given steps defines.
        mistakes: the known mistakes.
        conclude: a name for what none of them explains, from the exercise's own properties; None passes on.
    """

    scenarios: Callable[[int], Sequence[Scenario]]
    bases: Sequence[Any]
    namespace: Namespace
    mistakes: Sequence[Mistake[Any]]
    conclude: Conclude = lambda _findings: None


def run(
    scenario: Scenario, submission: Submission, *, exact: bool = False, pick: Any = None, seed: int = 0
) -> Seen:
    """Put a scenario to a submission; what its code raises is an observation too.

    Args:
        exact: compute in float64, and give the results in the scenario's dtype: the right answer.
        pick: see `Desk`.

    Raises:
        SubmissionError: the worker is gone, or the code is not written, or not there.
    """
    dtype = torch.float64 if exact else scenario.dtype
    picked = {} if pick is None else {"pick": pick}
    with torch.random.fork_rng(devices=[]):
        desk = Desk(submission, rounding=scenario.dtype, dtype=dtype, seed=seed, **picked)
        try:
            found = replace(seen(scenario.ask(desk)), unread=desk.unread)
        except SubmissionError as error:
            if error.fatal or error.kind in ("not_written", "missing"):
                raise
            return Seen(error=error)
        else:
            if not exact:
                return found
            cast = {
                name: x.to(scenario.dtype) if x.dtype == torch.float64 else x
                for name, x in found.values.items()
            }
            return replace(found, values=cast)
        finally:
            with contextlib.suppress(SubmissionError):  # it is gone, which the next call says
                desk.close()


class AnswerKey:
    """An exercise's scenarios for one seed, and the right answer to each, computed when it is first needed."""

    def __init__(self, subject: Subject, seed: int) -> None:
        self.scenarios, self._seed = list(subject.scenarios(seed)), seed
        self._right_code = LocalSubmission(subject.namespace(subject.bases[0]))
        self._right: dict[Scenario, Seen] = {}

    def right(self, scenario: Scenario) -> Seen:
        """The right answer."""
        if scenario not in self._right:
            self._right[scenario] = run(scenario, self._right_code, exact=True, seed=self._seed)
        return self._right[scenario]


@functools.lru_cache(maxsize=4)
def answer_key(subject: Subject, seed: int) -> AnswerKey:
    """The same one for every submission that is graded with this seed."""
    return AnswerKey(subject, seed)


class Inquiry:
    """Asks each scenario once, and names the mistakes of each component once, however many tests look.

    Args:
        submission: the code under test.
        subject: the exercise.
        seed: every random draw derives from it.
    """

    def __init__(self, submission: Submission, subject: Subject, seed: int) -> None:
        self.submission, self.subject, self.seed = submission, subject, seed
        self._key = answer_key(subject, seed)
        self.scenarios = self._key.scenarios
        self._got: dict[Scenario, Seen] = {}
        self._reading: dict[str, int] = {}
        self._readings: dict[str, int] = {}
        self._accounts: dict[str, tuple[Findings, list[Account]]] = {}

    def got(self, scenario: Scenario) -> Seen:
        """The submission's answer."""
        if scenario not in self._got:
            self._settle(scenario)
        return self._got[scenario]

    def right(self, scenario: Scenario) -> Seen:
        """The right answer."""
        return self._key.right(scenario)

    def _ask(self, scenario: Scenario) -> Seen:
        return run(scenario, self.submission, pick=self._pick, seed=self.seed)

    def _pick(self, component: str, found: Sequence[Reading]) -> Reading:
        self._readings[component] = max(len(found), self._readings.get(component, 0))
        return found[min(self._reading.get(component, 0), len(found) - 1)]

    def _settle(self, scenario: Scenario) -> None:
        """Ask; where weights can be read in several ways and none is settled yet, take the one that comes out right."""
        first = self._got[scenario] = self._ask(scenario)
        component = scenario.component
        count = self._readings.get(component, 1)
        if component in self._reading or count < 2:
            return
        self._reading[component] = 0
        if same(scenario, self.right(scenario), first):
            return
        for number in range(1, count):
            self._reading[component] = number
            again = self._ask(scenario)
            if same(scenario, self.right(scenario), again):
                self._got[scenario] = again
                return
        self._reading[component] = 0

    def check(self, component: str, *groups: str, only: Callable[[str], bool] | None = None) -> None:
        """Raise Unexplained if the submission is wrong in a scenario of these groups.

        Args:
            component: the function or class.
            groups: which scenarios; all of the component's if none is named.
            only: which differences count, by the value's name ("output", "changed in place", "error").
        """
        asked = scenarios_of(self.scenarios, component, groups)
        assert asked, f"there is no scenario of {component} in {groups}"
        wrong: list[tuple[Scenario, list[str]]] = []
        for scenario in asked:
            names = differing(scenario, self.right(scenario), self.got(scenario))
            names = [name for name in names if only is None or name == "error" or only(name)]
            if names:
                wrong.append((scenario, names))
        if wrong:
            first = self.got(wrong[0][0])
            raise Unexplained(
                lambda deadline: self._failure(wrong, first, len(asked), self.explained(component, deadline)),
                lambda: self._failure(wrong, first, len(asked), None),
            )

    def check_devices(self, component: str, *groups: str, cause: str = "") -> None:
        """Raise Unexplained if a tensor is made on a fixed device, in the first scenario of these groups.

        Args:
            cause: id of a mistake that has this for a consequence; where the component has it, it is what is named.
        """
        asked = scenarios_of(self.scenarios, component, groups)[0]
        what = f"{component}, {asked.title}"
        try:
            ran = check_devices(self.submission, what, lambda: self._ask(asked).error is None)
        except Failed as failure:
            found = failure

            def explain(deadline: float) -> Failed:
                accounts = self.explained(component, deadline)[1] if cause else []
                known = [one.named for one in accounts if one.named.id == cause]
                return Failed(found.message, mistakes=known or found.mistakes)

            raise Unexplained(explain, lambda: found) from None
        if not ran:
            self.check(component, *groups)

    def _failure(
        self,
        wrong: list[tuple[Scenario, list[str]]],
        first: Seen,
        asked: int,
        explained: tuple[Findings, list[Account]] | None,
    ) -> Exception:
        """What to say of scenarios that are wrong: a `Failed`, or the error that ended the first."""
        blamed: list[Account] = []
        if explained is not None:
            findings, accounts = explained
            here = {i for i, scenario in enumerate(findings.scenarios) if scenario in {w for w, _ in wrong}}
            blamed = [a for a in accounts if a.scenarios & here]
        named = list({a.named.id: a.named for a in blamed}.values())
        scenario, names = wrong[0]
        got = self._got.get(
            scenario, first
        )  # looking for mistakes may have asked again, and read weights otherwise
        if not named and got.error is not None:
            return got.error
        message, picture = contrast(scenario, names, self.right(scenario), got)
        count = f"Wrong in {len(wrong)} of {asked} cases here." if asked > 1 else ""
        proof = [a.proof for a in blamed[:1] if a.proof]
        return Failed("\n".join(filter(None, [message, count, *proof])), mistakes=named, picture=picture)

    def explained(self, component: str, deadline: float = math.inf) -> tuple[Findings, list[Account]]:
        """All that was found on one component, and the mistakes behind it."""
        if component not in self._accounts:
            findings = self._findings(component)
            accounts = self._account(component, findings, deadline)
            if not accounts and findings.wrong and time.monotonic() < deadline:
                findings, accounts = self._other_readings(component, findings, deadline)
            left = [i for i in findings.wrong if not any(i in a.scenarios for a in accounts)]
            if left:
                again = replace(findings, wrong=left)
                named = self.subject.conclude(again) or conclude(again, lambda s: self._ask(s))
                accounts = accounts + ([Account(named, frozenset(left), "")] if named else [])
            self._accounts[component] = findings, accounts
        return self._accounts[component]

    def _account(self, component: str, findings: Findings, deadline: float) -> list[Account]:
        return Namer(
            findings,
            self._mistakes(component),
            self.subject.bases,
            self.subject.namespace,
            self.seed,
            deadline,
        ).accounts()

    def _mistakes(self, component: str) -> Sequence[Mistake[Any]]:
        """The exercise's own, then those that plugins add to it."""
        known = {mistake.id for mistake in self.subject.mistakes}
        names = [one.name for one in get_exercises().values() if component in one.components]
        added = [m for name in names for m in get_mistakes(name) if m.id not in known]
        return [*self.subject.mistakes, *added]

    def _other_readings(
        self, component: str, findings: Findings, deadline: float
    ) -> tuple[Findings, list[Account]]:
        """Whether a mistake explains it if the weights are read another way."""
        before, looked = dict(self._got), 0
        for number in range(1, min(self._readings.get(component, 1), 8)):
            if looked == OTHER_READINGS or time.monotonic() > deadline:
                break
            self._reading[component] = number
            for scenario in scenarios_of(self.scenarios, component):
                self._got.pop(scenario, None)
            other = self._findings(component)
            if len(other.wrong) > len(findings.wrong):  # no better a reading, and long to look through
                continue
            accounts, looked = self._account(component, other, deadline), looked + 1
            if accounts:
                return other, accounts
        self._reading[component] = 0
        self._got = before
        return findings, []

    def _findings(self, component: str) -> Findings:
        """Every scenario's answer; up to the one, if any, that ends the worker."""
        asked, got = scenarios_of(self.scenarios, component), []
        for scenario in asked:
            try:
                got.append(self.got(scenario))
            except SubmissionError as error:
                if error.kind in ("not_written", "missing"):
                    return Findings([], [], [], [])
                break
        asked = asked[: len(got)]
        right = [self.right(scenario) for scenario in asked]
        wrong = [i for i, s in enumerate(asked) if not same(s, right[i], got[i])]
        return Findings(asked, got, right, wrong)


_inquiries: weakref.WeakKeyDictionary[Submission, dict[tuple[int, int], Inquiry]] = (
    weakref.WeakKeyDictionary()
)


def inquiry_of(submission: Submission, seed: int, subject: Subject) -> Inquiry:
    """The inquiry into this submission: the same one for every test that asks."""
    known = _inquiries.setdefault(submission, {})
    if (seed, id(subject)) not in known:
        known[seed, id(subject)] = Inquiry(submission, subject, seed)
    return known[seed, id(subject)]
