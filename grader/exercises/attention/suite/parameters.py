"""Tests of the class that compare no numbers: its constructor, and which differences count."""

from __future__ import annotations

from grader.api import STARTS, Draws, Failed, Submission, SubmissionError, misfit, unrefused
from grader.exercises.attention.mistakes import MISTAKES
from grader.exercises.attention.reference import CLASS
from grader.exercises.attention.suite.questions import CHANGED, IDLE

NAMED = {mistake.id: mistake.named for mistake in MISTAKES}
REFUSED = ((10, 4), (6, 4))


def check_arguments(component: Submission, seed: int) -> None:
    """d_model % num_heads must raise ValueError."""
    for d_model, num_heads in (*REFUSED, Draws(seed).not_divisible()):
        given = f"{CLASS}({d_model}, {num_heads}): expected a ValueError,"
        try:
            component.construct(CLASS, (d_model, num_heads)).close()
        except SubmissionError as error:
            if error.kind != "exception" or misfit(error):
                raise
            if error.type_name != "ValueError":
                named = NAMED["head-count-wrong-error"]
                failure = Failed(f"{given} got {error.type_name}: {error.message}", mistakes=[named])
                raise unrefused(failure, "ValueError", error) from error
        else:
            failure = Failed(f"{given} got no error.", mistakes=[NAMED["head-count-unchecked"]])
            raise unrefused(failure, "ValueError")


def is_change(name: str) -> bool:
    """An argument that was changed in place."""
    return name == CHANGED


def content(name: str) -> bool:
    """Everything but that, which has a test of its own."""
    return name != CHANGED


def is_shape(name: str) -> bool:
    """Return what came back, and its shape; not the numbers."""
    return name == "result" or name.startswith("shape of")


def is_gradient(name: str) -> bool:
    """Gradients, and what came back in place of a result that has some."""
    return name in ("result", IDLE, STARTS) or name.startswith("gradient")
