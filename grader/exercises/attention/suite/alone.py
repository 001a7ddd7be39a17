"""Properties that a submission has or has not, whatever numbers it gives: it is compared with itself."""

from __future__ import annotations

from dataclasses import replace

from grader.engine.cases import Case
from grader.engine.compare import equal
from grader.engine.subjects import Patched, Subject
from grader.exercises.attention.reference import REFERENCE
from grader.exercises.attention.suite.class_cases import dropped

LOOSE = 3.0


def forgets(case: Case, subject: Subject) -> bool:
    """An earlier call makes no difference."""
    return equal(case, subject.run(replace(case, earlier=None)), subject.run(case), loose=LOOSE)


def ignores_dropout(case: Case, subject: Subject) -> bool:
    """`dropout` makes no difference (in eval mode)."""
    return equal(case, subject.run(replace(case, dropout=0.0)), subject.run(case), loose=LOOSE)


def drops_weights(case: Case, subject: Subject) -> bool:
    """In train mode, each of the submission's own weights is dropped by itself, and the kept ones grow."""
    calm = replace(case, dropout=0.0, training=False, digest=None)
    plain, train = subject.run(calm), subject.run(replace(case, digest=None))
    if case.digest is None:
        return equal(case, plain, train, loose=LOOSE)
    right = Patched(REFERENCE).run(case)
    if "output" not in plain.values:
        return False
    return equal(case, right, dropped(case, train, plain.values["output"].double()))


def keeps_dtype(case: Case, subject: Subject) -> bool:
    """Results have the dtype of the inputs."""
    seen = subject.run(case)
    return bool(seen.values) and all(x.dtype == case.dtype for x in seen.values.values())


def stays_finite(case: Case, subject: Subject) -> bool:
    """No NaN, no infinity, no error."""
    seen = subject.run(replace(case, digest=None))
    return bool(seen.values) and all(bool(x.isfinite().all()) for x in seen.values.values())
