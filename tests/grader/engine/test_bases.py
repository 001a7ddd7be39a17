"""A mistake on top of another right base is not run where it gives what it gave on the first one."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from grader.catalog import get_exercises
from grader.engine.bases import Bases, identical
from grader.engine.naming import Candidate, Known
from grader.engine.scenario import Observation, Scenario
from grader.engine.subject import AnswerKey
from tests.mutation.measure import subject_of

MISTAKES, ASKED = 6, 3  # of each exercise, and scenarios that each is asked


@dataclass(frozen=True)
class Steps:
    """Two steps of some computation."""

    scale: Any = lambda x: x * 2
    clip: Any = lambda x: x

    def run(self, x: Tensor) -> Tensor:
        found: Tensor = self.clip(self.scale(x))
        return found


PLAIN = Steps()
CLIPPED = Steps(clip=lambda x: x.clamp(max=10.0))
DRAWN = Steps(clip=lambda x: x + torch.rand(()))


def test_a_base_is_noted_where_it_does_something_else() -> None:
    bases = Bases([PLAIN, CLIPPED, replace(PLAIN)])
    first = bases.steps[0]
    assert torch.equal(first.run(torch.ones(2)), torch.full((2,), 2.0))
    assert bases.unlike == set()
    first.run(torch.full((2,), 6.0))
    first.run(torch.ones(2))
    assert bases.unlike == {1}
    bases.begin()
    first.run(torch.ones(2))
    assert bases.unlike == set()


def test_gradients_through_equal_values_may_differ() -> None:
    bases = Bases([PLAIN, CLIPPED])
    x = torch.ones(2, requires_grad=True)
    found = bases.steps[0].run(x)
    assert bases.unlike == set()
    found.sum().backward()
    assert bases.unlike == {1}


def test_what_another_base_draws_leaves_the_generators_as_they_are() -> None:
    bases = Bases([PLAIN, DRAWN])
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    bases.steps[0].run(torch.ones(2))
    assert bases.unlike == {1}
    assert torch.equal(torch.rand(2), expected)


def test_where_a_step_raises_another_base_may_say_something_else() -> None:
    def refused(x: Tensor) -> Tensor:
        raise ValueError(x.shape)

    bases = Bases([Steps(clip=refused), CLIPPED])
    with pytest.raises(ValueError, match="2"):
        bases.steps[0].run(torch.ones(2))
    assert bases.unlike == {1}
    raising = Bases([PLAIN, Steps(clip=refused)])
    raising.steps[0].run(torch.ones(2))
    assert raising.unlike == {1}


def test_bases_of_another_kind_are_always_run() -> None:
    @dataclass(frozen=True)
    class Numbers:
        rate: float = 0.5

    bases = Bases([Numbers(), Numbers(0.25)])
    assert (bases.steps, bases.unlike) == ([Numbers(), Numbers(0.25)], {1})
    plain = Bases([object(), object()])
    plain.begin()
    assert plain.unlike == {1}


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        (torch.ones(2), torch.ones(2), True),
        (torch.tensor([torch.nan, 1.0]), torch.tensor([torch.nan, 1.0]), True),
        (torch.ones(2), torch.ones(2) + 1e-7, False),
        (torch.ones(2), torch.ones(2).double(), False),
        (torch.ones(2), torch.ones(1), False),
        (torch.ones(2, requires_grad=True), torch.ones(2), False),
        ([1, (torch.ones(1), "a")], [1, (torch.ones(1), "a")], True),
        ([1, (torch.ones(1), "a")], [1, (torch.zeros(1), "a")], False),
        ([torch.ones(2, requires_grad=True)], [torch.ones(2, requires_grad=True)], False),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"b": 1}, False),
        (1, 1.0, False),
    ],
)
def test_identical(a: object, b: object, found: bool) -> None:
    assert identical(a, b) is found


def _alike(a: Observation, b: Observation) -> bool:
    if a.error is not None or b.error is not None:
        return a.error is not None and b.error is not None and a.error.message == b.error.message
    return dict(a.facts) == dict(b.facts) and identical(dict(a.values), dict(b.values))


def _several() -> list[str]:
    return [name for name in get_exercises() if len(subject_of(name).bases) > 1]


@pytest.mark.parametrize("exercise", _several())
@pytest.mark.sampled(2)
def test_an_answer_that_is_taken_over_is_the_same(exercise: str) -> None:
    subject, draw, spared = subject_of(exercise), random.Random(exercise), 0
    key = AnswerKey(subject, seed=3)
    for mistake in draw.sample(list(subject.mistakes), MISTAKES):
        asked = [one for one in key.scenarios if not mistake.parts or one.component in mistake.parts]
        for scenario in draw.sample(asked, ASKED):
            spared += _taken_over(key.known, mistake, scenario)
    assert spared > MISTAKES


def _taken_over(known: Known, mistake: Any, scenario: Scenario) -> int:
    """How many answers were not computed; they are computed here, and compared."""
    spared = 0
    for first in known.singles(mistake, 0):
        first.answer(scenario, ())
    for base in range(1, len(known.bases.steps)):
        for one in known.singles(mistake, base):
            before, answer = known.asked, one.answer(scenario, ())
            if known.asked == before:
                spared += 1
                assert _alike(answer, Candidate((mistake,), one.steps, known).answer(scenario, ()))
    return spared
