"""Broken frames by the thousand, on both sides of the pipes: an answer, or the declared error, and no memory kept.

A frame is taken from a real conversation and changed: bytes, lengths, whole values of its header. The judge's side is
`RemoteSubmission` with all that lies below it, the worker's is the loop of `grader.worker.serve`; no process is
started. Both run in one process for all frames.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.core.submission import Outcome, SubmissionError
from grader.sandbox.frames import Channel
from grader.sandbox.process import Worker
from grader.sandbox.remote import RemoteInstance, RemoteSubmission
from grader.worker import frames, serve
from tests.grader.mutator import Mutator

QUICK, ALL = 2_000, 20_000  # mutated frames on each side: with every change to the code, and in CI
KEPT = 48 * 2**20  # bytes by which the process may grow: less than one body of the largest allowed size
LINUX = sys.platform.startswith("linux")
PATIENCE_S = 900  # for all frames together; only a hang takes so long

SOURCE = b"""
from torch import nn
class Part(nn.Linear):
    def __init__(self, *args, **kwargs): super().__init__(2, 2)
def double(x, mask=None): return x * 2, [x, None, {"n": 1.5, 2: True}], x > 0
def fail(x): raise ValueError("no")
"""
X = torch.tensor([[1.0, -2.0], [0.5, 3.0]])

Step = Callable[[RemoteSubmission], object]


def _part(submission: RemoteSubmission) -> RemoteInstance:
    return submission.construct("Part", [2], {"heads": 2})


def _call(submission: RemoteSubmission) -> Outcome:
    return submission.function("double").call([X], {"mask": X > 0}, grad=[0])


def _backward(submission: RemoteSubmission) -> object:
    part = _part(submission)
    part.parameters()
    return part.backward(part.call([X], grad=[0]), [X])


STEPS: dict[str, Step] = {
    "has": lambda submission: submission.has("double"),
    "construct": _part,
    "parameters": lambda submission: _part(submission).parameters(),
    "load": lambda submission: _part(submission).load({"weight": X, "bias": X[0]}),
    "to": lambda submission: _part(submission).to(torch.float64),
    "call": _call,
    "backward": _backward,
    "fail": lambda submission: submission.function("fail").call([X]),
    "trace": lambda submission: (submission.trace(True), _call(submission), submission.trace(False)),
    "seed": lambda submission: (submission.seed(3), submission.has("double")),
}


class Scripted(Worker):
    """A worker without a process, all of whose answers are there from the start. Then its end comes.

    Args:
        answers: the bytes of its frames.
    """

    def __init__(self, answers: bytes) -> None:
        self._answers = answers
        super().__init__()
        self._started = True

    def _launch(self, level: object, server: object) -> tuple[Any, Channel]:
        read, write = os.pipe()
        channel = Channel(read, os.open(os.devnull, os.O_WRONLY))
        os.write(write, self._answers)
        os.close(write)
        return _Nobody(), channel


class _Nobody:
    """In place of a process."""

    returncode, reason, pid = 0, "", 0

    def wait_started(self, deadline: float) -> None:
        """There is none to wait for."""

    def end(self) -> None:
        """There is none to end."""


class Recorded(Scripted):
    """A worker whose answers are made by the worker's own loop, here; keeps all frames of both sides."""

    def __init__(self) -> None:
        super().__init__(b"")
        self.operations = serve.Operations("cpu")
        self.requests: list[bytes] = []
        self.replies: list[bytes] = []

    def request(
        self, header: dict[str, Any], buffers: Sequence[memoryview] = (), *, doing: str
    ) -> tuple[dict[str, Any], bytearray]:
        size = sum(len(buffer) for buffer in buffers)
        self.requests.append(frames.encode({**header, "n": len(self.requests) + 1}, size) + b"".join(buffers))
        self.replies.append(reply(self.operations, self.requests[-1]))
        with holding(self.replies[-1]) as read:
            return frames.read_frame(read)


def reply(operations: serve.Operations, request: bytes) -> bytes:
    """What the worker's loop answers to the bytes of a request. Raises what the loop raises."""
    answer, write = os.pipe()
    try:
        with holding(request) as asked:
            header, body = frames.read_frame(asked)
        serve._answer(operations, header, body, write, lambda: None)
        return os.read(answer, 2**20)
    finally:
        os.close(answer)
        os.close(write)


@contextlib.contextmanager
def holding(content: bytes) -> Iterator[int]:
    """The end to read of a pipe that holds this, and then ends."""
    read, write = os.pipe()
    os.write(write, content)
    os.close(write)
    try:
        yield read
    finally:
        os.close(read)


def conversations() -> dict[str, Recorded]:
    """Each step with all that went to and fro before it."""
    found = {}
    for name, step in STEPS.items():
        worker = found[name] = Recorded()
        with contextlib.suppress(SubmissionError):
            step(RemoteSubmission(worker, SOURCE, "part.py"))
        worker.close()
    return found


def measured() -> tuple[int, int]:
    """Bytes of memory, and number of descriptors, of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1]) if LINUX else 0
    return pages * resource.getpagesize(), len(list(Path("/dev/fd").iterdir()))


@contextlib.contextmanager
def bounded() -> Iterator[Callable[[], None]]:
    """No hang, and after the frames that come before the call of what is given, no growth."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)  # KeyboardInterrupt, at the place
    signal.alarm(PATIENCE_S)
    before: list[tuple[int, int]] = []
    try:
        yield lambda: before.append(measured())
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    (memory, descriptors), (memory_now, descriptors_now) = before[0], measured()
    assert descriptors_now == descriptors
    assert memory_now - memory < KEPT


rounds = pytest.mark.parametrize(
    ("seed", "count"), [(1, QUICK), pytest.param(2, ALL, marks=pytest.mark.slow)], ids=["quick", "all"]
)


@rounds
def test_the_judge_reads_any_answer_or_blames_the_submission(seed: int, count: int) -> None:
    known = conversations()
    mutator = Mutator(seed, [frame for worker in known.values() for frame in worker.replies])
    refused: Counter[str] = Counter()
    longest = 0
    with bounded() as begin:
        for number in range(count):
            if number == count // 4:
                begin()
            name = mutator.random.choice(list(known))
            replies = known[name].replies
            at = mutator.random.randrange(len(replies))
            with Scripted(b"".join(replies[:at]) + mutator.changed(replies[at])) as worker:
                try:
                    STEPS[name](RemoteSubmission(worker, SOURCE, "part.py"))
                except SubmissionError as error:
                    refused[error.kind] += 1
                    longest = max(longest, len(error.message))
    assert refused["timeout"] == 0
    assert longest < 3_000  # characters of a message for people
    assert refused["protocol"] > count / 4  # most changes are noticed here; the others are other answers
    assert refused["died"] > count / 50  # less than was claimed, and then nothing


@rounds
def test_the_worker_answers_any_request_or_ends(seed: int, count: int) -> None:
    known = conversations()
    mutator = Mutator(seed, [frame for worker in known.values() for frame in worker.requests])
    prepared: dict[tuple[str, int], serve.Operations] = {}
    ended, failed = 0, 0
    with bounded() as begin:
        for number in range(count):
            if number == count // 4:
                begin()
            if number % 500 == 0:
                prepared.clear()  # the judge has closed nothing of what was made
            name = mutator.random.choice(list(known))
            requests = known[name].requests
            at = mutator.random.randrange(1, len(requests))  # the source is text: any text is tried elsewhere
            if (name, at) not in prepared:
                prepared[name, at] = after(requests[:at])
            try:
                answer = reply(prepared[name, at], mutator.changed(requests[at]))
            except (frames.FrameError, frames.StreamEndedError):
                ended += 1
                continue
            size, body = frames.lengths(answer[:8])
            assert len(answer) == 8 + size + body
            failed += "failure" in frames.decode(answer[8 : 8 + size])
    assert ended > count / 10
    assert failed > count / 10


def after(requests: Sequence[bytes]) -> serve.Operations:
    """A worker's state after these requests."""
    operations = serve.Operations("cpu")
    for request in requests:
        reply(operations, request)
    return operations


def test_a_change_is_seen() -> None:
    """The changes do change, and frames that are not changed are answers."""
    known = conversations()
    for name, worker in known.items():
        with Scripted(b"".join(worker.replies)) as scripted:
            if name == "fail":
                with pytest.raises(SubmissionError, match="no"):
                    STEPS[name](RemoteSubmission(scripted, SOURCE, "part.py"))
            else:
                STEPS[name](RemoteSubmission(scripted, SOURCE, "part.py"))
    every = [frame for worker in known.values() for frame in worker.replies]
    mutator = Mutator(3, every)
    changed = [frame != mutator.changed(frame) for frame in every * 20]
    assert sum(changed) > 0.9 * len(changed)
