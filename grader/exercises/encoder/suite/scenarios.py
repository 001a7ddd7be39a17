"""The scenarios of `EncoderLayer` and `Encoder`."""

from __future__ import annotations

from collections.abc import Sequence

from grader.api import Grading, Scenario, Subject, Submission, grading_of
from grader.exercises.encoder.reference import REFERENCE, namespace
from grader.exercises.encoder_and_decoder.suite.kinds import ENCODER
from grader.exercises.encoder_and_decoder.suite.single import layer_scenarios
from grader.exercises.encoder_and_decoder.suite.stacks import stack_scenarios


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them, in the order of the tests."""
    return [*layer_scenarios(ENCODER, seed), *stack_scenarios(ENCODER, seed + 1000)]


AXES = {"*": ("sentence", "position", "feature")}
SUBJECT = Subject("encoder", scenarios, (REFERENCE,), namespace, axes=AXES)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)
