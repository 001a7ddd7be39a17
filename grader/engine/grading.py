"""One submission's exam in any exercise that is asked by scenarios: compares its answers, and names what is wrong."""

from __future__ import annotations

import inspect
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import islice
from typing import Any

from grader.core.explain import misfit, same_failure
from grader.core.failures import Failed, Finder, Unexplained
from grader.core.spots import Spots
from grader.core.submission import Submission, SubmissionError
from grader.engine.answers import Answers, Choice
from grader.engine.conclusions import LIMITS, conclude, extra, first, nothing, unread
from grader.engine.contrast import contrast, differing, same
from grader.engine.devices import check_devices
from grader.engine.matrices import matrices_of
from grader.engine.mistakes import Mistake
from grader.engine.naming import BY_CHANCE, LOOSE, Account, Findings, Namer
from grader.engine.scenario import Observation, Scenario, scenarios_of
from grader.engine.settings import changed_setting
from grader.engine.subject import Subject
from grader.engine.work_clock import clock

OTHER_READINGS = 3  # of the weights, in which the cause of what is wrong is looked for
READING_S = 1.0  # of the clock of work, to find a better one
PAIRS_S = 3.0  # of the clock of work, for two mistakes at once in all components of a file, ...
LEAST_PAIRS_S = 0.7  # ... of which each has this much at least
FIRST = 3  # wrong scenarios that are asked again, to see whether they depend on chance


class Grading(Answers):
    """Names the mistakes of each component once, however many tests look."""

    def __init__(self, submission: Submission, subject: Subject, seed: int) -> None:
        super().__init__(submission, subject, seed)
        self._accounts: dict[str, tuple[Findings, list[Account]]] = {}
        self._pairs_s = PAIRS_S  # left for two mistakes at once

    def check(
        self,
        component: str,
        *groups: str,
        only: Callable[[str], bool] | None = None,
        beside: str = "",
        errors: bool = True,
    ) -> None:
        """Raise Unexplained if the submission is wrong in a scenario of these groups.

        Args:
            component: the function or class.
            groups: which scenarios; all of the component's if none is named.
            only: which differences count, by the value's name ("output", "changed in place", "error").
            beside: a group of plain numbers. Where these are wrong already, only facts count: properties that do not
                depend on the numbers.
            errors: whether an error counts; not where another test shows it, and the property is not touched by it.
        """
        numbers = scenarios_of(self.scenarios, component, [beside]) if beside else []
        by_facts = any(not self.is_right(one) for one in numbers)
        asked = scenarios_of(self.scenarios, component, groups)
        assert asked, f"there is no scenario of {component} in {groups}"
        wrong: list[tuple[Scenario, list[str]]] = []
        for scenario in asked:
            got = self.got(scenario)
            right = self.right(scenario)
            names = differing(scenario, right, got)
            names = [n for n in names if (errors if n == "error" else only is None or only(n))]
            if by_facts:
                names = [name for name in names if name == "error" or name in {**right.facts, **got.facts}]
            if names:
                wrong.append((scenario, names))
        if wrong:
            first = self.got(wrong[0][0])

            def locate(finder: Finder) -> Spots:
                if first.error is not None and misfit(first.error):
                    return finder.of_signature(first.error)
                return finder.of_component(self, component)

            raise Unexplained(
                lambda deadline, finder: self._failure(
                    wrong, first, len(asked), self.explained(component, deadline, finder)
                ),
                lambda: self._failure(wrong, first, len(asked), None),
                locate,
            )

    def check_devices(self, component: str, *groups: str, cause: str = "") -> None:
        """Raise Unexplained if a tensor is made on a fixed device, in the first scenario of these groups.

        Args:
            cause: id of a mistake that has this for a consequence; where the component has it, it is what is named.
        """
        asked = scenarios_of(self.scenarios, component, groups)[0]
        what = f"{component}, {asked.title}"
        try:
            ran = check_devices(self.submission, what, lambda: self.ask(asked).error is None)
        except Failed as failure:
            found = failure

            def explain(deadline: float, finder: Finder | None) -> Failed:
                accounts = self.explained(component, deadline, finder)[1] if cause else []
                known = [one.named for one in accounts if one.named.id == cause]
                return Failed(found.message, mistakes=known or found.mistakes)

            def locate(finder: Finder) -> Spots:
                known = finder.of_component(self, component) if cause else {}
                return {**finder.of_device(found.message, component), **known}

            raise Unexplained(explain, lambda: found, locate) from None
        if not ran:
            self.check(component, *groups)

    def _failure(
        self,
        wrong: list[tuple[Scenario, list[str]]],
        first: Observation,
        asked: int,
        explained: tuple[Findings, list[Account]] | None,
    ) -> Exception:
        """Return the failure for wrong scenarios: a `Failed`, or the error that ended the first."""
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
        left_out = (
            explained is not None and scenario not in explained[0].scenarios
        )  # no mistake is behind this one
        if got.error is not None and (not named or left_out):
            return got.error
        message, picture = contrast(scenario, names, self.right(scenario), got)
        drawn = (scenario, self.right(scenario), got)
        found = None if explained is None or any(a.proof for a in blamed) else explained[0]
        if found is not None and not found.random:  # whose picture would be another one each time
            shown = next(filter(found.map_of, found.wrong), None)
            if shown is not None:
                picture = found.map_of(shown)
                drawn = (found.scenarios[shown], found.right[shown], found.got[shown])
        count = f"Wrong in {len(wrong)} of {asked} cases of this test." if asked > 1 else ""
        proof = [a.proof for a in blamed[:1] if a.proof]
        of = scenario.component
        return Failed(
            self._with_names(of, "\n".join(filter(None, [message, count, *proof]))),
            mistakes=[replace(one, text=self._with_names(of, one.text)) for one in named],
            picture=picture,
            matrices=matrices_of(*drawn, self.subject.axes),
            component=of,
        )

    def _with_names(self, component: str, text: str) -> str:
        """A text in which arguments of a component have their names, and no numbers: "gradient of x"."""
        words = self._argument_names(component)

        def named(found: re.Match[str]) -> str:
            number = int(found["number"])
            return found["before"] + words[number] if number < len(words) else found[0]

        return re.sub(
            r"(?P<before>gradient of |)(?:(?<=gradient of )|argument )(?P<number>\d)\b", named, text
        )

    def _argument_names(self, component: str) -> list[str]:
        """Of a call of the function, or of the class's forward, as the reference has them."""
        found = self.subject.namespace(self.subject.bases[0]).get(component)
        function = getattr(found, "forward", found)
        if not callable(function):
            return []
        return [name for name in inspect.signature(function).parameters if name != "self"]

    def explained(
        self, component: str, deadline: float = math.inf, finder: Finder | None = None
    ) -> tuple[Findings, list[Account]]:
        """All that was found on one component, and the mistakes behind it, see `Unexplained.explain`."""
        if component not in self._accounts:
            findings = self._findings(component)
            obvious = changed_setting(findings) or (
                self.subject.obvious(findings) if findings.wrong else None
            )
            if obvious is not None:
                accounts = [Account(obvious, frozenset(findings.wrong), "")]
            else:
                findings, accounts = self._searched(component, findings, deadline, finder)
            self._accounts[component] = findings, accounts
        return self._accounts[component]

    def _searched(
        self, component: str, findings: Findings, deadline: float, finder: Finder | None
    ) -> tuple[Findings, list[Account]]:
        below = self.subject.builds_on.get(component)
        broken, causes = self.explained(below, deadline, finder) if below else (None, [])
        known = all(a.proof for a in causes)
        # Where what it builds on is wrong for reasons that nobody knows, its own mistakes hardly show.
        most = None if known else 1
        accounts = self._account(
            component, findings, deadline, causes=causes, thorough=known, most_bases=most
        )
        undecided = known and not findings.random and not self.is_read(component, 1)
        before = findings
        if undecided and not accounts:
            findings, accounts = self._better_read(component, findings, deadline)
        if known and not accounts:
            accounts = self._several(component, findings, deadline, finder)
        if undecided and not accounts and findings is before:
            findings, accounts = self._other_readings(component, findings, deadline)
        left = [i for i in findings.wrong if not any(i in a.scenarios for a in accounts)]
        if left:
            echoes = self._same_errors(component, findings, left)
            accounts = accounts + echoes
            left = [i for i in left if not any(i in a.scenarios for a in echoes)]
        if left and not (broken and broken.wrong):
            rest = replace(findings, wrong=left)
            own = None if unread(rest) else self.subject.conclude(rest)
            named = nothing(rest) or extra(rest) or own or conclude(rest)
            accounts = accounts + ([Account(named, frozenset(left), "")] if named else [])
        return findings, accounts

    def _same_errors(self, component: str, findings: Findings, left: list[int]) -> list[Account]:
        """One component may call another: what raises at a line that is named there has the same name here."""
        found = []
        for other, (theirs, accounts) in self._accounts.items():
            for account in accounts if other != component else ():
                errors = [theirs.got[i].error for i in account.scenarios]
                causes = {same_failure(error) for error in errors if error is not None}
                here = [(i, findings.got[i].error) for i in left]
                echoes = frozenset(i for i, e in here if e is not None and same_failure(e) in causes)
                if echoes:
                    found.append(replace(account, scenarios=echoes))
        return found

    def _account(
        self,
        component: str,
        findings: Findings,
        deadline: float,
        *,
        causes: Sequence[Account] = (),
        thorough: bool = True,
        most_bases: int | None = None,
    ) -> list[Account]:
        """One known mistake that gives all that is wrong. Args: thorough: several are looked for afterwards."""
        if not findings.wrong:
            return []
        mistakes = self._mistakes(component)
        proved = [m for m in mistakes if m.id in {a.named.id for a in causes if a.proof}]
        found = Namer(findings, proved, self._key.known, deadline).as_before() if proved else []
        namer = Namer(findings, mistakes, self._key.known, deadline, most_bases)
        found = found or namer.alone()
        if found:
            return found
        findings.random = self._is_random(findings)
        if findings.random and (found := namer.at_random()):
            return found
        return [] if thorough and self._may_be_several(findings) else namer.alone_where_finite()

    def _may_be_several(self, findings: Findings) -> bool:
        return not findings.random and first(findings) is None and unread(findings) is None

    def _several(
        self, component: str, findings: Findings, deadline: float, finder: Finder | None
    ) -> list[Account]:
        """Several mistakes at once, where no one change of a line makes all right."""
        if not findings.wrong or not self._may_be_several(findings):
            return []
        if finder is not None and finder.is_one_change(self, component, findings):
            return []
        begun = clock.seconds()
        found = Namer(findings, self._mistakes(component), self._key.known, deadline).several(self._pairs_s)
        self._pairs_s = max(self._pairs_s - (clock.seconds() - begun), LEAST_PAIRS_S)
        return found

    def _is_random(self, findings: Findings) -> bool:
        """Whether one of the first wrong scenarios gives something else with another seed of the random generators."""
        some = ((findings.scenarios[i], findings.got[i]) for i in findings.wrong if findings.got[i].values)
        calm = ((scenario, got) for scenario, got in some if not scenario.traits & BY_CHANCE)
        return any(self.is_random(scenario, got) for scenario, got in islice(calm, FIRST))

    def is_random(self, scenario: Scenario, got: Observation) -> bool:
        """Whether something else comes with another seed of the random generators, where nothing asks for chance."""
        by_chance = scenario.traits & BY_CHANCE
        return not by_chance and not same(scenario, self.ask(scenario, seed=1), got, loose=LOOSE)

    def _mistakes(self, component: str) -> Sequence[Mistake[Any]]:
        """Those that a component can have; first what other components have already."""
        named = {a.named.id for _, accounts in self._accounts.values() for a in accounts}
        possible = [m for m in self.subject.mistakes if not m.parts or component in m.parts]
        return sorted(possible, key=lambda m: m.id not in named)

    def _better_read(
        self, component: str, findings: Findings, deadline: float
    ) -> tuple[Findings, list[Account]]:
        """Findings and mistakes with weights read in a way in which some of what is wrong comes out right.

        Where no way makes a whole result right, one still may where only some of the weights matter.
        """
        settled, proved = dict(self._reading), self.readings(component)
        choices = [choice for choice in settled if choice[0] == component and choice not in proved]
        whole = [findings.scenarios[i] for i in findings.wrong if findings.got[i].values]
        some = [
            *{one.group: one for one in whole}.values(),
            *{one.group: one for one in whole[::-1]}.values(),
        ]
        end, best, most = clock.seconds() + READING_S, list[dict[Choice, int]](), 1
        for number in range(1, max((count for _, count, _ in choices), default=1)):
            if clock.seconds() > end:
                break
            self._reading = settled | {choice: min(number, choice[1] - 1) for choice in choices}
            answers = [(scenario, self.ask(scenario)) for scenario in dict.fromkeys(some)]
            right = sum(same(one, self._key.right(one, got.free), got) for one, got in answers)
            if right >= most:
                best, most = [*(best if right == most else ()), dict(self._reading)], right
        for reading in best[:OTHER_READINGS]:
            read, accounts = self._looked_at(component, reading, deadline)
            if accounts:
                return read, accounts
        if not best:
            self._reading = settled
            return findings, []
        return self._read(component, best[0]), []

    def _looked_at(
        self,
        component: str,
        reading: Mapping[Choice, int],
        deadline: float,
        *,
        most: float = math.inf,
        thorough: bool = True,
    ) -> tuple[Findings, list[Account]]:
        """Findings and mistakes with weights read in another way: in all scenarios if there are some without dear ones.

        Args:
            most: wrong scenarios; with more the reading is no better.
        """
        some = self._read(component, reading, without=LIMITS)
        if len(some.wrong) > most or not self._account(component, some, deadline, thorough=thorough):
            return some, []
        every = self._read(component, reading)
        return every, self._account(component, every, deadline, thorough=thorough)

    def _read(
        self, component: str, reading: Mapping[Choice, int], without: Set[str] = frozenset()
    ) -> Findings:
        """Findings with weights read in another way, which is kept. Args: without: scenarios with these traits."""
        self._reading = dict(reading)
        for scenario in scenarios_of(self.scenarios, component):
            self._got.pop(scenario, None)
        return self._findings(component, without)

    def _other_readings(
        self, component: str, findings: Findings, deadline: float
    ) -> tuple[Findings, list[Account]]:
        """Return whether a mistake explains it if the weights are read another way."""
        before, looked = dict(self._got), 0
        settled = dict(self._reading)
        choices = [choice for choice in settled if choice[0] == component]
        most = sum(not findings.scenarios[i].traits & LIMITS for i in findings.wrong)
        for number in range(1, min(max((count for _, count, _ in choices), default=1), 8)):
            if looked == OTHER_READINGS or time.monotonic() > deadline:
                break
            reading = settled | {choice: (settled[choice] + number) % choice[1] for choice in choices}
            other, accounts = self._looked_at(component, reading, deadline, most=most, thorough=False)
            looked += len(other.wrong) <= most
            if accounts:
                return other, accounts
        self._reading = settled
        self._got = before
        return findings, []

    def _findings(self, component: str, without: Set[str] = frozenset()) -> Findings:
        """Every scenario's answer, but for those with some traits; up to the one, if any, that ends the worker.

        Those in which none of the code ran, as a call did not fit, are left out if others are wrong as well: they
        have a cause of their own.
        """
        asked, got = [], []
        for scenario in scenarios_of(self.scenarios, component):
            if scenario.traits & without:
                continue
            try:
                answer = self.got(scenario)
            except SubmissionError as error:
                if error.kind in ("not_written", "missing"):
                    return Findings([], [], [], [])
                break
            asked.append(scenario)
            got.append(answer)
        right = [self.right(scenario) for scenario in asked]
        wrong = [i for i, s in enumerate(asked) if not same(s, right[i], got[i])]
        ran = [i for i, answer in enumerate(got) if answer.error is None or not misfit(answer.error)]
        if not set(wrong).isdisjoint(ran):
            asked, got, right = [asked[i] for i in ran], [got[i] for i in ran], [right[i] for i in ran]
            wrong = [n for n, i in enumerate(ran) if i in wrong]
        return Findings(asked, got, right, wrong)


def grading_of(submission: Submission, seed: int, subject: Subject) -> Grading:
    """The grading into this submission: the same one for every test that asks."""
    # On the submission itself, which its gradings refer to: a dictionary beside it, even a weak one, would keep both.
    known: dict[tuple[int, int], Grading] = vars(submission).setdefault("_gradings", {})
    if (seed, id(subject)) not in known:
        known[seed, id(subject)] = Grading(submission, subject, seed)
    return known[seed, id(subject)]


def unrefused(failure: Failed, type_name: str, other: SubmissionError | None = None) -> Unexplained:
    """A failure since an error was not raised. Its place is the condition of the statement that should raise it.

    Args:
        type_name: of the error.
        other: what was raised in its place; then that is where the place is.
    """
    names = [named.id for named in failure.mistakes]
    return Unexplained(
        lambda _deadline, _finder: failure,
        lambda: failure,
        lambda finder: finder.of_unraised(type_name, other, names),
    )
