"""What can be said of the class without comparing numbers: its constructor and its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from grader.core.explain import misfit
from grader.core.failures import Failed, Named, Unexplained
from grader.core.submission import Submission, SubmissionError
from grader.engine import structure
from grader.engine.exam import Exam
from grader.engine.subjects import CLASS
from grader.exercises.attention.mistakes import MISTAKES

NAMED: Mapping[str, Named] = {mistake.id: mistake.named for mistake in MISTAKES}
REFUSED = ((10, 4), (6, 4))


def check_arguments(component: Submission) -> None:
    """d_model % num_heads must raise ValueError."""
    for d_model, num_heads in REFUSED:
        given = f"MultiHeadAttention({d_model}, {num_heads}): expected a ValueError,"
        try:
            component.construct(CLASS, (d_model, num_heads)).close()
        except SubmissionError as error:
            if error.kind != "exception" or misfit(error):
                raise
            if error.type_name != "ValueError":
                named = NAMED["head-count-wrong-error"]
                raise Failed(f"{given} got {error.type_name}: {error.message}", mistakes=[named]) from error
        else:
            raise Failed(f"{given} got no error.", mistakes=[NAMED["head-count-unchecked"]])


def check_parameters(exam: Exam) -> None:
    """Four projections of d_model x d_model, registered, trainable, biases free."""
    for d_model, num_heads in exam.sizes():
        layout = exam.layout(d_model, num_heads)
        wrong = structure.problem(layout, d_model, num_heads)
        if wrong:
            plain = structure.named(layout, d_model, num_heads)
            raise Unexplained(
                partial(_parameters_failed, exam, wrong, plain), partial(Failed, wrong, mistakes=[plain])
            )


def _parameters_failed(exam: Exam, wrong: str, plain: Named, deadline: float) -> Failed:
    return Failed(wrong, mistakes=[e.named for e in exam.explained("class", deadline)[1]] or [plain])


def check_reached(exam: Exam) -> None:
    """Every parameter that is registered takes part."""
    d_model, num_heads = exam.sizes()[0]
    layout = exam.layout(d_model, num_heads)
    idle = [name for name in layout.parameters if layout.known and name not in layout.reached]
    if idle:
        text = (
            f"{', '.join(idle[:4])}: registered, but no gradient ever reaches it. A layer that is made in __init__ "
            "and not used in forward never learns."
        )
        named = Named("parameter-unused", text, hint="Search forward for the name.")
        raise Failed(
            f"MultiHeadAttention({d_model}, {num_heads}) has parameters without a gradient.", mistakes=[named]
        )
