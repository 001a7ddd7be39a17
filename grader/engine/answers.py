"""A submission's answers in any exercise that is asked by scenarios, with its weights read so that they come right."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from functools import partial

from grader.core.submission import Submission
from grader.engine.contrast import same
from grader.engine.experiment import found_by_experiment
from grader.engine.layout import Layout, Shapes
from grader.engine.scenario import Free, Observation, Scenario
from grader.engine.subject import Subject, answer_key, run
from grader.engine.work_clock import clock

LIKELY = 8  # readings that are tried before an experiment is made
MOST_IN_VAIN = 4  # experiments on a component's weights of different sizes
MOST_RECONSIDERED = 3  # scenarios in which another way to read weights is looked for
TELLING = 16  # numbers in which only one way of reading the weights comes out right

# a component, in how many ways the weights of one size can be read, and which these are, where that has a name
Choice = tuple[str, int, tuple[str, ...]]
NO_CHOICE: Choice = ("", 1, ())


class Answers:
    """What a submission answers, each scenario asked once.

    Args:
        submission: the code under test.
        subject: the exercise.
        seed: every random draw derives from it.
        readings: of weights that can be read in several ways, where the way is known, see `Answers.readings`.
        most_readings: how many ways are tried where it is not; all for None.
        layouts: of weights, where known: by component and shapes, see `found_by_experiment`.
        experiments: whether they are looked for by experiment.
    """

    def __init__(
        self,
        submission: Submission,
        subject: Subject,
        seed: int,
        *,
        readings: Mapping[Choice, int] | None = None,
        most_readings: int | None = None,
        layouts: dict[tuple[str, Shapes], Layout] | None = None,
        experiments: bool = True,
    ) -> None:
        self.submission, self.subject, self.seed = submission, subject, seed
        self._key = answer_key(subject, seed)
        self.layouts: dict[tuple[str, Shapes], Layout] = {} if layouts is None else layouts
        self._layout: dict[Scenario, Layout] = {}  # of the class that it has made last
        self._in_vain_tried: set[Scenario] = set()  # experiments
        self._unusual: set[str] = set()  # components with weights in unusual shapes, see `Observation`
        self.scenarios = self._key.scenarios
        self._got: dict[Scenario, Observation] = {}
        self._seconds: dict[Scenario, float] = {}  # that pass in the first call with each
        self._reading: dict[Choice, int] = dict(readings or {})
        self._known = frozenset(self._reading)
        self._most_readings, self._experiments = most_readings, experiments
        self._in_vain: dict[Choice, set[Free]] = {}  # with which options no way to read them came out right
        self._choice: dict[str, Choice] = {}
        self._chosen: dict[Scenario, Choice] = {}
        self._reconsidered: Counter[Choice] = Counter()  # how often
        self._telling: dict[tuple[Scenario, Choice, int], bool] = {}

    def got(self, scenario: Scenario) -> Observation:
        """The submission's answer."""
        if scenario not in self._got:
            first = self._key.first.get(scenario, scenario)
            if first not in self._got and self._most_readings is None:  # else it is about this one alone
                self._settle(first)
            if scenario not in self._got:
                self._settle(scenario)
        return self._got[scenario]

    def seconds(self, scenario: Scenario) -> float:
        """How long the submission took, as if nothing else ran."""
        return self._seconds.get(scenario, 0.0) / clock.slowness()

    def right(self, scenario: Scenario) -> Observation:
        """The right answer."""
        return self._key.right(scenario, self.got(scenario).free)

    def is_right(self, scenario: Scenario, *, seed: int = 0) -> bool:
        """Return whether the submission's answer is. Args: seed: is added to the grading's."""
        got = self.got(scenario)
        if seed:
            got = self.ask(scenario, seed=seed)
        return same(scenario, self._key.right(scenario, got.free), got)

    def ask(self, scenario: Scenario, *, exact: bool = False, seed: int = 0) -> Observation:
        """Ask again, with the weights read as they were settled. Args: seed: is added to the grading's."""
        pick = partial(self._pick, scenario)
        return run(scenario, self.submission, exact=exact, pick=pick, seed=self.seed + seed)

    def _pick(self, scenario: Scenario, component: str, found: Sequence[Layout]) -> Layout:
        choice = self._choice[component] = (component, len(found), tuple(one.label for one in found))
        known = self.layouts.get((component, tuple(found[0].shapes.items())))
        self._layout[scenario] = known or found[min(self._reading.get(choice, 0), len(found) - 1)]
        return self._layout[scenario]

    def layout(self, scenario: Scenario) -> Layout:
        """Where the weights of the class are that a scenario makes: as its result comes out right, if it ever does."""
        self._settle(scenario)
        self.ask(scenario)
        return self._layout.get(scenario, Layout({}, {}))

    def held(self, scenario: Scenario) -> Set[str]:
        """Which of the reference's weights the class has that a scenario made last."""
        layout = self._layout.get(scenario)
        return set() if layout is None else layout.index.keys()

    def _settle(self, scenario: Scenario) -> None:
        """Ask, with weights read in the way that comes out right, if any does."""
        self._settle_reading(scenario)
        self._is_settled_by_experiment(scenario)

    def _is_settled_by_experiment(self, scenario: Scenario) -> bool:
        """Whether it comes out right as an experiment finds the weights; they must have unusual shapes, in some size.

        What an earlier experiment has found may be wrong where its scenario did not depend on all weights.
        """
        component, before = scenario.component, self._got[scenario]
        if not self._experiments:
            return False
        self._unusual |= {component} if before.unusual else set()
        in_vain = [one for one in self._in_vain_tried if one.component == component]
        most = MOST_IN_VAIN if self._most_readings is None else 1
        if component not in self._unusual or scenario not in self._layout or before.error is not None:
            return False
        if scenario in in_vain or len(in_vain) == most or self.is_right(scenario):
            return False
        key = component, tuple(self._layout[scenario].shapes.items())
        earlier = self.layouts.get(key)
        found = found_by_experiment(
            scenario, self.submission, self._key.right_code, seed=self.seed, free=before.free
        )
        if found is not None:
            self.layouts[key] = found
            self._got[scenario] = self.ask(scenario)
            if self.is_right(scenario):
                self._forget_wrong(component)
                return True
            self._got[scenario] = before
            del self.layouts[key]
            self.layouts |= {} if earlier is None else {key: earlier}
        self._in_vain_tried.add(scenario)
        return False

    def is_unread(self, component: str) -> bool:
        """Whether nobody knows where its weights are: experiments were in vain, and nothing is right in any reading."""
        in_vain = any(one.component == component for one in self._in_vain_tried)
        known = any(one == component for one, _ in self.layouts)
        return in_vain and not known and not self.readings(component)

    def _forget_wrong(self, component: str) -> None:
        """What was wrong with weights read otherwise is to be asked again when needed."""
        for scenario in [one for one in self._got if one.component == component]:
            if not self.is_right(scenario):
                del self._got[scenario]

    def _settle_reading(self, scenario: Scenario) -> None:
        """Ask; where weights can be read in several ways and none is settled yet, take the one that comes out right.

        An error says nothing of the weights, and in few numbers several ways may come out right. Where none does, it is
        tried once more with other options: norm="post" may be wrong, and norm="pre" right.
        """
        self._choice.pop(scenario.component, None)
        begun = time.monotonic()
        first = self._got[scenario] = self.ask(scenario)
        self._seconds[scenario] = time.monotonic() - begun
        choice = self._chosen[scenario] = self._choice.get(scenario.component, NO_CHOICE)
        tried = self._in_vain.setdefault(choice, set())
        if choice[1] < 2 or first.error is not None:
            return
        if choice in self._reading and (not tried or first.chosen in tried):
            if tried or choice in self._known or self.is_right(scenario):
                return
            if not self._is_settled_by_experiment(scenario):
                self._reconsider(scenario, choice)
            return
        for number in range(min(choice[1], self._most_readings or choice[1])):
            if number == LIKELY and self._is_settled_by_experiment(scenario):
                del self._reading[choice]
                return
            self._reading[choice] = number
            if number:
                self._got[scenario] = self.ask(scenario)
            if self.is_right(scenario):
                self._ask_again(choice if tried else None)
                break
        else:
            self._reading[choice], self._got[scenario] = 0, first
            tried.add(first.chosen)
        if sum(value.numel() for value in self.right(scenario).values.values()) < TELLING:
            del self._reading[choice]

    def _reconsider(self, scenario: Scenario, choice: Choice) -> None:
        """Where the settled way to read weights is wrong here: another one with which all else is as right as before.

        It may have been settled by a result that does not depend on all weights, as a first step on queries and keys.
        """
        before = [one for one, its in self._chosen.items() if its == choice and one in self._got]
        right = (one for one in before if one is not scenario and self.is_right(one))
        first_right = next(right, None)
        if first_right is not None and self._tells(first_right, choice):
            return  # it would be wrong with any other one
        self._reconsidered[choice] += 1
        if self._reconsidered[choice] > MOST_RECONSIDERED:
            return
        all_right = [one for one in (first_right, *right) if one is not None]
        settled, first = self._reading[choice], self._got[scenario]
        for number in range(min(choice[1], self._most_readings or choice[1])):
            if number != settled and all(
                self._is_right_read(one, choice, number) for one in (scenario, *all_right)
            ):
                self._got.update({one: self.ask(one) for one in before})
                return
        self._reading[choice], self._got[scenario] = settled, first

    def _ask_again(self, choice: Choice | None) -> None:
        """What was asked with weights read in a way that is not the right one is to be asked again when needed."""
        if choice is not None:
            self._in_vain.pop(choice)
            for scenario in [one for one, its in self._chosen.items() if its == choice and one in self._got]:
                if not self.is_right(scenario):
                    del self._got[scenario]

    def readings(self, component: str) -> dict[Choice, int]:
        """Return how weights are read, as far as something came out right like that, and would not otherwise."""
        found: dict[Choice, int] = {}
        for scenario, choice in self._chosen.items():
            if scenario.component != component or choice not in self._reading or choice in found:
                continue
            if self.is_right(scenario) and self._tells(scenario, choice):
                found[choice] = self._reading[choice]
        return found

    def is_read(self, component: str, most: int) -> bool:
        """Return whether it is known how to read the weights. Args: most: ways to read them that are few."""
        choices = {choice for scenario, choice in self._chosen.items() if scenario.component == component}
        return all(choice[1] <= most or choice in self.readings(component) for choice in choices)

    def _tells(self, scenario: Scenario, choice: Choice) -> bool:
        """Return whether a scenario that is right would be wrong if weights were read in any other way."""
        settled = self._reading[choice]
        key = scenario, choice, settled
        if key not in self._telling:
            others = [number for number in (0, *reversed(range(1, choice[1]))) if number != settled]
            try:
                self._telling[key] = not any(self._is_right_read(scenario, choice, one) for one in others)
            finally:
                self._reading[choice] = settled
        return self._telling[key]

    def _is_right_read(self, scenario: Scenario, choice: Choice, number: int) -> bool:
        """Whether an answer is right with weights read in another way, which is kept."""
        self._reading[choice] = number
        return same(scenario, self.right(scenario), self.ask(scenario))
