"""The scenarios of an exercise, its reference and its mistakes, and how one scenario is run on any code."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from grader.catalog import get_mistakes
from grader.core.failures import Named
from grader.core.submission import Submission, SubmissionError
from grader.engine.client import Client
from grader.engine.local import LocalSubmission
from grader.engine.mistakes import Mistake
from grader.engine.naming import BY_CHANCE, Findings, Known
from grader.engine.scenario import Free, Observation, Scenario, after_a_call, observe, scenarios_of

Namespace = Callable[[Any], Mapping[str, Any]]
Conclude = Callable[[Findings], Named | None]


@dataclass(frozen=True, eq=False)
class Subject:
    """What an exercise's suite brings along.

    Attributes:
        exercise: its name; known mistakes are those that all plugins offer for it.
        scenarios: makes all scenarios from a seed, in the order of the tests.
        bases: right ways to do it (`Steps` of the exercise's reference), the reference first; mistakes are tried on
            top of each.
        namespace: what a file written with given steps defines.
        conclude: a name for what none of them explains, from the exercise's own properties; None passes on.
        obvious: a name for what can be seen at once, before mistakes are looked for.
        builds_on: component -> the component that it calls. What is wrong there in a way that nobody knows is most
            likely what is wrong here too.
        axes: names of the dimensions of values, for pictures: a pattern of a case and a value as messages show them,
            "MultiHeadAttention, *: output", -> ("sentence", "query", "feature"). The first pattern that matches
            counts. Of a value with fewer dimensions the last names count.
    """

    exercise: str
    scenarios: Callable[[int], Sequence[Scenario]]
    bases: Sequence[Any]
    namespace: Namespace
    conclude: Conclude = lambda _findings: None
    obvious: Conclude = lambda _findings: None
    builds_on: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def mistakes(self) -> Sequence[Mistake[Any]]:
        """The known mistakes: the exercise's own, then those of other plugins."""
        return get_mistakes(self.exercise)


UNFIT = "What came back is nothing that this test can compare"
ODD = (TypeError, ValueError, LookupError, ArithmeticError, RuntimeError, AttributeError)


def run(
    scenario: Scenario,
    submission: Submission,
    *,
    exact: bool = False,
    pick: Any = None,
    seed: int = 0,
    free: Free | None = None,
) -> Observation:
    """Put a scenario to a submission; what its code raises is an observation too.

    Args:
        exact: compute in float64, and give the results in the scenario's dtype: the right answer.
        pick, free: see `Client`.

    Raises:
        SubmissionError: the worker is gone, or the code is not written, or not there.
    """
    dtype = torch.float64 if exact else scenario.dtype
    picked = {} if pick is None else {"pick": pick}
    with torch.random.fork_rng(devices=[]):
        client = Client(submission, rounding=scenario.dtype, dtype=dtype, seed=seed, free=free, **picked)
        try:
            answer = scenario.ask(client)
            found = replace(
                observe(answer),
                unread=client.unread,
                lacking=client.lacking,
                idle=frozenset(client.idle),
                unusual=client.unusual,
                free=tuple(client.free.items()),
                chosen=tuple(client.chosen.items()),
                extra=tuple(client.extra.items()),
                told_apart=client.told_apart,
                given=client.given,
            )
        except SubmissionError as error:
            if error.fatal or error.kind in ("not_written", "missing"):
                raise
            return Observation(error=error, idle=frozenset(client.idle))
        except (
            ODD
        ) as error:  # of the reference it is a fault of the scenario's; else nobody thought of such a result
            if exact:
                raise
            return Observation(
                error=SubmissionError("protocol", f"{UNFIT} ({type(error).__name__}: {error})")
            )
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
                client.close()


class AnswerKey:
    """An exercise's scenarios for one seed, and the answers of right and mistaken code, asked for when first needed.

    Attributes:
        right_code: the reference.
        first: by scenario, the one that has to be asked before it, because it would leave the right result behind.
    """

    def __init__(self, subject: Subject, seed: int) -> None:
        self._seed = seed
        self.right_code = LocalSubmission(subject.namespace(subject.bases[0]))
        self._right: dict[tuple[Scenario, Free], Observation] = {}
        self.first: dict[Scenario, Scenario] = {}
        self.scenarios = self._with_calls_before(subject.scenarios(seed))
        self.known = Known(subject.bases, subject.namespace, seed)

    def _with_calls_before(self, scenarios: Sequence[Scenario]) -> list[Scenario]:
        """These, and some of each component also after another call: what is kept by shapes must not come back.

        The first one that tells, the first of those that are given most tensors, masks too, and the first of length
        one, which may be taken for the next step of the call before.
        """
        later = {one: after_a_call(one) for one in scenarios if _can_come_after(one)}
        for component in dict.fromkeys(one.component for one in scenarios):
            own = scenarios_of(list(later), component)
            most = max((self.right(one, ()).given for one in own), default=0)
            short = [one for one in own if "a length of one" in one.traits]
            for some in (own, [one for one in own if self.right(one, ()).given == most], short):
                first = next((one for one in some if self.right(later[one], ()).told_apart), None)
                if first is not None:
                    self.first[first] = later[first]
        return [each for one in scenarios for each in (one, self.first.get(one)) if each is not None]

    def right(self, scenario: Scenario, free: Free) -> Observation:
        """The right answer, for a submission that has made these choices."""
        if (scenario, free) not in self._right:
            self._right[scenario, free] = run(
                scenario, self.right_code, exact=True, seed=self._seed, free=free or None
            )
        return self._right[scenario, free]


def _can_come_after(scenario: Scenario) -> bool:
    return scenario.dtype == torch.float32 and not scenario.traits & BY_CHANCE


@functools.lru_cache(maxsize=4)
def answer_key(subject: Subject, seed: int) -> AnswerKey:
    """The same one for every submission that is graded with this seed."""
    return AnswerKey(subject, seed)
