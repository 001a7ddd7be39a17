"""What it costs to hold a submission, and what holding it stops: start-up, whole grades, hostile submissions."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial

import torch

from grader.sandbox.process import Worker
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Canary, Sandbox
from grader.worker.confinement import Level
from tests.bench.commands import ROOT, zoo
from tests.bench.measure import Action, Benchmark, Count, all_seconds, process
from tests.grader.hostile import HOSTILE

SOURCE = b"def double(x): return 2 * x"
GRADED = "grader/exercises/attention/solution.py"
GRADE = f"zoo grade {GRADED} --skip training"


def first_forward(worker: Callable[[], Worker]) -> Action:
    """From nothing to the first answer of a submission that was just loaded, and to the worker's end."""

    def action() -> None:
        submission = RemoteSubmission(worker(), SOURCE, "a.py")
        try:
            found = submission.function("double").call([torch.ones(2, 3)]).value
            assert torch.equal(found, torch.full((2, 3), 2.0))
        finally:
            submission.close()

    return action


def canary() -> tuple[Action, Action]:
    """The trial of strict against a bare Python."""

    def trial() -> None:
        reason = Canary("strict").verdict()
        assert not reason, reason

    return trial, process([sys.executable, "-I", "-S", "-c", "pass"])


def server() -> tuple[Action, Action]:
    """A fork server and its first worker against a worker that imports torch itself."""

    def fresh() -> None:
        with Sandbox("process") as sandbox:
            first_forward(lambda: sandbox.worker("cpu"))()

    return fresh, first_forward(Worker)


def forked(level: Level, other: Level | None) -> tuple[Action, Action]:
    """A worker of a fork server that is there, at a level, against one at another, or one that imports torch (None).

    The two fork servers end with this process.
    """
    one = Sandbox("strict" if level == "strict" else "process")
    assert one.level("cpu") == level
    held = first_forward(lambda: one.worker("cpu"))
    if other is None:
        return held, first_forward(Worker)
    second = Sandbox("process")
    return held, first_forward(lambda: second.worker("cpu"))


def graded() -> tuple[Action, Action]:
    """A whole command at either level."""
    words = ("grade", str(ROOT / GRADED), "--skip", "training")
    return zoo(*words, "--sandbox=strict"), zoo(*words, "--sandbox=process")


def coming_off(level: Level) -> tuple[int, int]:
    """How many of the hostile submissions come to what they want at a level, and how many there are."""
    return sum(level not in one.stopped_by for one in HOSTILE.values()), len(HOSTILE)


BENCHMARKS = (
    Benchmark(
        "confinement-canary",
        "the trial that tells whether strict holds / python -I -S -c pass",
        20.0,
        21,
        canary,
        time.perf_counter,
        "wall s",
    ),
    Benchmark(
        "confinement-server",
        "start of the fork server, and its first worker's first forward / a worker that imports torch itself, the same",
        1.3,
        7,
        server,
        time.perf_counter,
        "wall s",
    ),
    Benchmark(
        "confinement-worker",
        "strict worker, forked: import of the file, first forward, end / a worker that imports torch itself, the same",
        0.1,
        9,
        partial(forked, "strict", None),
        time.perf_counter,
        "wall s",
    ),
    Benchmark(
        "confinement-levels",
        "strict worker, forked: import of the file, first forward, end / at the level process, the same",
        1.5,
        401,  # milliseconds each, on a machine that others use too
        partial(forked, "strict", "process"),
        time.perf_counter,
        "wall s",
    ),
    Benchmark(
        "confinement-wall",
        f"{GRADE} --sandbox=strict / --sandbox=process",
        1.1,
        15,
        graded,
        time.perf_counter,
        "wall s",
    ),
    Benchmark(
        "confinement-cpu",
        f"{GRADE} --sandbox=strict / --sandbox=process",
        1.1,
        9,
        graded,
        all_seconds,
    ),
    Count(
        "attacks-strict",
        "hostile submissions that come to what they want at the level strict / all, as the tests of them assert",
        0.0,
        partial(coming_off, "strict"),
        "submissions",
    ),
    Count(
        "attacks-process",
        "hostile submissions that come to what they want at the level process / all, as the tests of them assert",
        1.0,
        partial(coming_off, "process"),
        "submissions",
    ),
)
