"""The training test: with the part in a worker process, against the same training in one process."""

from __future__ import annotations

from pathlib import Path

from grader.exercises.attention import solution as solution
from grader.sandbox.process import Worker
from grader.sandbox.remote import RemoteSubmission
from grader.training.training import require, train_to_reverse
from tests.bench.measure import Action, Benchmark, live_seconds


def remote_and_local() -> tuple[Action, Action]:
    """The hidden test as it stands, and its training with the solution's class in this process."""
    # pytest knows the suite's marker while it grades, and not while it collects our own tests
    from grader.exercises.attention.suite.test_training import test_spells_words_backwards as training_test

    submission = RemoteSubmission(Worker(), Path(solution.__file__).read_bytes(), "attention.py")

    def silent(*_progress: object) -> None:
        pass

    def remote() -> None:
        training_test(submission, 0, silent)

    def local() -> None:
        require(train_to_reverse("attention", solution.MultiHeadAttention, seed=0, progress=silent))

    return remote, local


BENCHMARKS = (
    Benchmark(
        "training-remote",
        "the training test of attention, its solution in a worker process, spot-checked, CPU of both processes / the "
        "same training and spelling in one process, not checked; the worker's start is not counted",
        1.4,
        3,
        remote_and_local,
        live_seconds,
    ),
)
