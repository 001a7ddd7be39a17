"""A pool of judges on this machine. Imports no torch.

The judges are started and fed from the main thread, which lives as long as the program: on Linux a judge ends when
the thread that started it ends.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import IO, Any

from grader.core.results import GraderBrokenError
from grader.sandbox.launch import nameless_file

START_S = 180.0  # for a judge to import torch
END_S = 10.0  # for a judge that grades nothing to end
MAX_STARTS = 3  # judges in a row that never became ready
CLUSTERS = ("RAY_", "SLURM_", "SUBMITIT_")
"""How the names of environment variables begin that are for a cluster's own processes."""
_MAIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])['paths']; "
    "from grader.classroom.judge import main; main()"
)


@dataclass(frozen=True)
class Job:
    """One file to grade.

    Attributes:
        id: of the job, for the one who asks.
        exercise: name of the exercise.
        source: the file's content.
        seed: every random draw of the tests derives from it.
        device: "cpu" or "cuda".
        categories: of the tests to run.
        strict: refuse a library's own attention.
        cost: expected seconds; the longest jobs are graded first.
        tries: how often it is begun, this time included.
    """

    id: int
    exercise: str
    source: bytes
    seed: int
    device: str
    categories: tuple[str, ...]
    strict: bool = False
    cost: float = 0.0
    tries: int = 1

    def message(self) -> bytes:
        """The job as a line of JSON, the one thing that a process that grades gets."""
        job = {
            "id": self.id,
            "exercise": self.exercise,
            "source": base64.b64encode(self.source).decode(),
            "seed": self.seed,
            "device": self.device,
            "categories": self.categories,
            "strict": self.strict,
            "tries": self.tries,
        }
        return json.dumps(job).encode() + b"\n"

    @classmethod
    def read(cls, message: bytes | str) -> Job:
        """The job of a message."""
        job = json.loads(message)
        return cls(
            **{**job, "source": base64.b64decode(job["source"]), "categories": tuple(job["categories"])}
        )


@dataclass(frozen=True)
class Outcome:
    """The outcome of a job.

    Attributes:
        job: the job.
        state: "graded", "unloadable", "refused", "stopped" or "broken".
        reason: why it is not "graded", or "".
        report: `dataclasses.asdict` of the lean grade, or None.
        duration_s, cpu_s: wall time and CPU time of the grade.
        tries: how often it was begun.
        lost: whether it ended because a process was lost, so that another try may end better.
    """

    job: Job
    state: str
    reason: str = ""
    report: dict[str, Any] | None = None
    duration_s: float = 0.0
    cpu_s: float = 0.0
    tries: int = 1
    lost: bool = False

    @classmethod
    def read(cls, job: Job, answer: Mapping[str, Any]) -> Outcome:
        """The outcome that an answer in JSON gives; what it lacks is as by default."""
        names = {one.name for one in fields(cls)} - {"job"}
        return cls(job, **{name: value for name, value in answer.items() if name in names})

    def message(self) -> bytes:
        """The answer as a line of JSON, with the job's id."""
        answer = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "job"}
        return json.dumps({"id": self.job.id, **answer}).encode() + b"\n"

    @property
    def needs_a_person(self) -> bool:
        """Return whether the file has no grade for a reason that may not be its own."""
        return self.state == "broken" or (self.state == "stopped" and self.report is None)


@dataclass(frozen=True)
class Limits:
    """The limits of the pool.

    Attributes:
        grade_s: wall time of one grade.
        tries: how often a file is graded whose judge ends or is stuck.
        files: a judge is replaced after so many files.
        memory: a judge is replaced when it has grown to so many MB.
    """

    grade_s: float = 600.0
    tries: int = 2
    files: int = 100
    memory: float = 2_000.0


@dataclass
class _Judge:
    process: subprocess.Popen[bytes]
    said: IO[bytes]
    deadline: float
    ready: bool = False
    job: Job | None = None
    tries: int = 1
    files: int = 0
    buffer: bytearray = field(default_factory=bytearray)

    def dismiss(self) -> None:
        """Let it end by itself, if it grades nothing."""
        assert self.process.stdin is not None
        if self.ready and self.job is None:
            self.process.stdin.close()

    def end(self) -> int:
        """End the process. Its sandbox ends with it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if self.process.stdin.closed:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=END_S)
        if self.process.poll() is None:
            self.process.kill()
        code = self.process.wait()
        with contextlib.suppress(OSError):  # a job was not written to the end
            self.process.stdin.close()
        self.process.stdout.close()
        return code

    def last_words(self) -> str:
        """The end of what it printed."""
        lines = os.pread(self.said.fileno(), 2**16, 0).decode(errors="replace").strip().splitlines()
        return lines[-1][-300:] if lines else ""


def environment() -> dict[str, str]:
    """Return the environment for a process that grades: without the variables of clusters, which hold their tokens."""
    return {name: value for name, value in os.environ.items() if not name.startswith(CLUSTERS)}


class LocalPool:
    """Judges on this machine, each with its fork server and sandbox. Use it as a context manager.

    Args:
        size: how many grade side by side.
        sandbox: "strict" or "process".
        device: "cpu" or "cuda".
        limits: see there.
        paths: where the judges find packages; None: where this process does.
    """

    def __init__(
        self,
        size: int,
        sandbox: str,
        device: str,
        limits: Limits | None = None,
        paths: Sequence[str] | None = None,
    ) -> None:
        self._size, self._limits = size, limits or Limits()
        paths = sys.path if paths is None else paths
        self._settings = {
            "sandbox": sandbox,
            "device": device,
            "parent": os.getpid(),
            "paths": [path for path in paths if path],  # not the current directory: it may be the students'
        }
        self._judges: list[_Judge] = []
        self._selector = selectors.DefaultSelector()
        self._failed_starts = 0

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def pids(self) -> list[int]:
        """Process ids of the judges."""
        return [judge.process.pid for judge in self._judges]

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Grade all jobs, the longest first; each outcome as it comes.

        Raises:
            GraderBrokenError: judges cannot be started.
        """
        waiting = deque(sorted(jobs, key=lambda job: -job.cost))
        tries = {job.id: job.tries for job in jobs}
        left = len(waiting)
        while left:
            while len(self._judges) < min(self._size, left):
                self._start()
            for judge in self._judges:
                if judge.ready and judge.job is None and waiting:
                    self._feed(judge, waiting.popleft(), tries)
            for judge, lost in self._wait():
                outcome = self._lost(judge, lost, waiting, tries) if lost else self._read(judge)
                if outcome is not None:
                    left -= 1
                    yield outcome

    def close(self) -> None:
        """End all judges, with what they grade. Harmless when repeated."""
        for judge in self._judges:
            judge.dismiss()
        for judge in list(self._judges):
            self._end(judge)
        self._selector.close()

    def _start(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise GraderBrokenError("Processes for grading must be started from the main thread.")
        said = nameless_file()
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", _MAIN, json.dumps(self._settings)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                cwd="/",
                env=environment(),
                start_new_session=True,  # Ctrl-C reaches the parent alone
            )
        except OSError as error:
            said.close()
            raise GraderBrokenError(f"A process for grading could not start: {error}.") from error
        judge = _Judge(process, said, time.monotonic() + START_S)
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, judge)
        self._judges.append(judge)

    def _feed(self, judge: _Judge, job: Job, tries: dict[int, int]) -> None:
        assert judge.process.stdin is not None
        judge.job, judge.tries = job, tries[job.id]
        judge.deadline = time.monotonic() + self._limits.grade_s
        with contextlib.suppress(OSError):  # it has ended, which shows when its output is read
            judge.process.stdin.write(job.message())
            judge.process.stdin.flush()

    def _wait(self) -> Iterator[tuple[_Judge, str]]:
        """Judges that have something to say, or ("" else) are lost: why."""
        ends = [judge.deadline for judge in self._judges if judge.job is not None or not judge.ready]
        timeout = max(0.0, min(ends, default=time.monotonic() + 1.0) - time.monotonic())
        for key, _ in self._selector.select(timeout):
            judge: _Judge = key.data
            try:
                data = os.read(key.fd, 2**20)
            except BlockingIOError:
                continue
            judge.buffer += data
            yield judge, "" if data else "ended"
        for judge in list(self._judges):
            if judge.deadline < time.monotonic() and (judge.job is not None or not judge.ready):
                yield judge, "late"

    def _read(self, judge: _Judge) -> Outcome | None:
        """The outcome, if the whole answer is there."""
        line, end, rest = judge.buffer.partition(b"\n")
        if not end:
            return None
        judge.buffer = rest
        answer = json.loads(line)
        if answer.get("ready"):
            judge.ready, self._failed_starts = True, 0
            return None
        job, judge.job = judge.job, None
        assert job is not None
        judge.files += 1
        if judge.files >= self._limits.files or answer["memory"] >= self._limits.memory:
            judge.dismiss()
            self._end(judge)
        return Outcome.read(job, {**answer, "tries": judge.tries})

    def _lost(self, judge: _Judge, how: str, waiting: deque[Job], tries: dict[int, int]) -> Outcome | None:
        """Replace a judge; its file is graded again later, or is given up."""
        words = judge.last_words()
        code = self._end(judge)
        job = judge.job
        if job is None:
            if not judge.ready:
                self._failed_starts += 1
                if self._failed_starts >= MAX_STARTS:
                    raise GraderBrokenError(
                        f"The processes for grading do not start. {words or f'Exit code {code}'}"
                    )
            return None
        if tries[job.id] < self._limits.tries:
            tries[job.id] += 1
            waiting.append(job)
            return None
        times = f"{judge.tries} {'time' if judge.tries == 1 else 'times'}"
        if how == "late":
            limit = f"{self._limits.grade_s:g} s"
            return Outcome(
                job,
                "stopped",
                f"The grade took longer than the limit of {limit}, {times}.",
                tries=judge.tries,
                lost=True,
            )
        ended = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        reason = f"The grader's process {ended} while it graded this file, {times}. {words}".strip()
        return Outcome(job, "broken", reason, tries=judge.tries, lost=True)

    def _end(self, judge: _Judge) -> int:
        if judge not in self._judges:
            return judge.process.returncode or 0
        self._judges.remove(judge)
        assert judge.process.stdout is not None
        self._selector.unregister(judge.process.stdout)
        code = judge.end()
        judge.said.close()
        return code
