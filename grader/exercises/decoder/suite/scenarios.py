"""The scenarios of `DecoderLayer` and `Decoder`."""

from __future__ import annotations

from collections.abc import Sequence

from grader.api import Grading, Scenario, Subject, Submission, grading_of
from grader.exercises.decoder.reference import REFERENCE, namespace
from grader.exercises.decoder.suite import cross
from grader.exercises.encoder_and_decoder.suite.kinds import DECODER
from grader.exercises.encoder_and_decoder.suite.single import layer_scenarios
from grader.exercises.encoder_and_decoder.suite.stacks import stack_scenarios


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them: what layers and stacks of both kinds are asked, and what is the decoder's alone."""
    return [
        *layer_scenarios(DECODER, seed),
        *cross.layer_scenarios(seed + 500),
        *stack_scenarios(DECODER, seed + 1000),
        *cross.stack_scenarios(seed + 1500),
    ]


AXES = {"*": ("sentence", "position", "feature")}
SUBJECT = Subject("decoder", scenarios, (REFERENCE,), namespace, axes=AXES)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)


def memory(name: str) -> bool:
    """Differences in what the keys and values of cross-attention are, or in the memory that layers get."""
    return name.startswith(("key and value of", "memory of"))
