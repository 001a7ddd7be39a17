"""What the hidden tests ask `EncoderLayer` and `Encoder`."""

from __future__ import annotations

from collections.abc import Sequence

from grader.judge.component import Submission
from grader.judge.inquiry import Inquiry, Subject, inquiry_of
from grader.judge.scenario import Scenario
from grader.mistakes.encoder import MISTAKES
from grader.reference.encoder import REFERENCE, namespace
from grader.suites.layers.kinds import ENCODER
from grader.suites.layers.single import layer_scenarios
from grader.suites.layers.stacks import stack_scenarios


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them, in the order of the tests."""
    return [*layer_scenarios(ENCODER, seed), *stack_scenarios(ENCODER, seed + 1000)]


SUBJECT = Subject(scenarios, (REFERENCE,), namespace, MISTAKES)


def inquiry(component: Submission, seed: int) -> Inquiry:
    """The inquiry into a submission, the same one for all tests."""
    return inquiry_of(component, seed, SUBJECT)
