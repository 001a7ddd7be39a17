"""Starts a worker process, talks to it within deadlines, and ends it with all that it started.

Importing this imports no torch, and `Worker` does not wait for the process it starts: judge and worker
can import torch at the same time.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from grader.core.results import GraderBrokenError
from grader.sandbox.launch import Spawned, nameless_file, package_paths, temporary_folder
from grader.worker import scratch
from grader.worker.failures import OUTPUT_LIMIT
from grader.worker.fork_server import FULL

if TYPE_CHECKING:
    from grader.core.submission import ErrorKind, SubmissionError
    from grader.sandbox.fork_server import ForkServer
    from grader.sandbox.frames import Channel
    from grader.sandbox.launch import Launched
    from grader.worker.confinement import Level

SHOWN_OUTPUT = 64 * 2**10
SAYING_S = 1.0  # to say in which line it is, for code that has taken too long


@dataclass(frozen=True)
class Limits:
    """The resources that a submission may use.

    Attributes:
        start_s: seconds until the worker has imported torch (none of the submission's code runs yet).
        request_s: seconds for the answer to any one request.
        total_s: seconds for all answers together; twice `cpu_s`, so that a busy machine fails nobody.
        cpu_s: CPU seconds of the whole process.
        memory: bytes of address space; not held on CUDA, which reserves far more than it uses.
    """

    start_s: float = 120.0
    request_s: float = 20.0
    total_s: float = 1200.0
    cpu_s: int = 600
    memory: int = 8 * 2**30


class Worker:
    """A worker process, with no submission yet. Use it as a context manager, or `close` it.

    On Linux it is killed when the thread that started it ends, so start it in the judge's main thread.

    Args:
        device: "cpu" or "cuda": where the submission's tensors will live.
        limits: what the submission may use.
        level: how it is confined: "strict" or "process", see `grader.worker.confinement`.
        server: where it is forked from; without one it is started directly, and imports torch itself.

    Raises:
        GraderBrokenError: this system is not supported, or has no room for another process or file.
    """

    def __init__(
        self,
        device: str = "cpu",
        limits: Limits | None = None,
        *,
        level: Level = "process",
        server: ForkServer | None = None,
    ) -> None:
        if os.name != "posix":
            raise GraderBrokenError(
                "Submissions run in a process of their own that this system cannot confine. "
                "Grade on Linux or macOS (on Windows: in WSL 2)."
            )
        self.device, self.limits = device, limits or Limits()
        self._output = nameless_file()
        self._process, self._channel = self._launch(level, server)
        self._end = weakref.finalize(self, _end, self._process, self._channel, self._output)
        self._started, self._number, self._waited = False, 0, 0.0
        self._printed = b""
        self._fate: tuple[ErrorKind, str, int | None, str] | None = None

    def _launch(self, level: Level, server: ForkServer | None) -> tuple[Launched, Channel]:
        from grader.sandbox.frames import Channel

        requests, to_worker = os.pipe()
        from_worker, answers = os.pipe()
        settings = {
            "read": requests,
            "write": answers,
            "device": self.device,
            "cpu_s": self.limits.cpu_s,
            "memory": self.limits.memory,
            "output": OUTPUT_LIMIT,
            "paths": package_paths(),
            "level": level,
            "scratch": os.path.join(temporary_folder(), f"zoo-{secrets.token_hex(8)}"),  # noqa: PTH118
        }
        try:
            process = server.launch(settings, self._output) if server else Spawned(settings, self._output)
        except BaseException:
            os.close(to_worker)
            os.close(from_worker)
            self._output.close()
            raise
        finally:
            os.close(requests)
            os.close(answers)
        return process, Channel(from_worker, to_worker)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Return whether it can be asked anything: False once it has died, was killed or closed."""
        return self._end.alive

    def close(self) -> None:
        """End the process and all it started, and remove its working directory. Harmless when repeated."""
        if self.alive:
            self._printed = self._read_output()
            self._end()

    def output(self) -> bytes:
        """The beginning of what the submission has printed. Also after the end."""
        return self._read_output() if self.alive else self._printed

    def request(
        self, header: dict[str, Any], buffers: Sequence[memoryview] = (), *, doing: str
    ) -> tuple[dict[str, Any], bytearray]:
        """Send one request, and wait for its answer.

        Args:
            header: the request.
            buffers: the bytes that go with it.
            doing: what the submission is doing meanwhile, in words ("importing it").

        Returns:
            The answer's header and bytes. They are untrusted: any JSON object with the right number.

        Raises:
            SubmissionError: the worker died, did not answer in time, or answered nonsense. It is gone then.
            FrameError: the request is too long. The worker is as before.
            GraderBrokenError: the worker could not start.
        """
        from grader.sandbox.frames import DeadlineError, FrameError, StreamEndedError

        if not self.alive:
            raise self._lost(*(self._fate or ("died", f"it had ended before ({doing})", None, "")))
        self._await_start()
        self._number += 1
        began = time.monotonic()
        deadline = began + min(self.limits.request_s, self.limits.total_s - self._waited)
        sent = False
        try:
            self._channel.send({**header, "n": self._number}, buffers, deadline)
            sent = True
            answer, body = self._channel.receive(deadline)
            if answer.get("n") != self._number:
                raise FrameError("a response to another request")
            return answer, body
        except DeadlineError:
            raise self._timed_out(doing) from None
        except StreamEndedError:
            raise self._ended(doing) from None
        except FrameError as error:
            if sent:
                self.close()
                raise self._lost(
                    "protocol", f"your code's process sent a malformed response: {error}"
                ) from None
            raise
        except BaseException:  # Ctrl-C between two halves of a frame: there is no way back
            self.close()
            raise
        finally:
            self._waited += time.monotonic() - began

    def _await_start(self) -> None:
        """Wait until the worker has imported torch."""
        if self._started:
            return
        from grader.sandbox.frames import DeadlineError, FrameError

        deadline = time.monotonic() + self.limits.start_s
        try:
            self._process.wait_started(deadline)
            self._channel.receive(deadline)
        except (EOFError, DeadlineError, FrameError):
            self.close()
            if self._process.returncode == -signal.SIGKILL and not self._printed:
                raise self._lost("died", "it was killed before any of your code ran") from None
            said = self._printed.decode(errors="replace")[-2_000:]
            raise GraderBrokenError(f"The process for the submission could not start:\n{said}") from None
        except BaseException:
            self.close()
            raise
        self._started = True

    def _timed_out(self, doing: str) -> SubmissionError:
        line, source_line = self._stopped_at()
        self.close()
        message = f"no answer within {self.limits.request_s:g} s ({doing})"
        if self._waited + self.limits.request_s >= self.limits.total_s:
            message = f"all its answers together took more than {self.limits.total_s:g} s ({doing})"
        return self._lost("timeout", message, line, source_line)

    def _stopped_at(self) -> tuple[int | None, str]:
        """The line that its code is in: it is interrupted, and has a moment to say so. Where it does not: None."""
        from grader.sandbox.frames import DeadlineError, FrameError, StreamEndedError
        from grader.sandbox.link import failure

        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, signal.SIGURG)
        try:
            answer, _ = self._channel.receive(time.monotonic() + SAYING_S)
        except (DeadlineError, FrameError, StreamEndedError):
            return None, ""
        error = failure(answer.get("failure"))
        return (error.line, error.source_line) if error.kind == "timeout" else (None, "")

    def _ended(self, doing: str) -> SubmissionError:
        self.close()
        code = self._process.returncode
        if self._process.reason == FULL:
            most = f"{scratch.MOST_BYTES // 2**20} MB or {scratch.MOST_FILES:,} files"
            return self._lost("limit", f"it wrote more than {most} ({doing})")
        if code == -signal.SIGXCPU:
            return self._lost("limit", f"more than {self.limits.cpu_s} s of CPU time ({doing})")
        if code is not None and code < 0:
            return self._lost("died", f"it was ended by signal {-code}, {signal.strsignal(-code)} ({doing})")
        return self._lost("died", f"it ended itself with exit code {code} ({doing})")

    def _lost(
        self, kind: ErrorKind, message: str, line: int | None = None, source_line: str = ""
    ) -> SubmissionError:
        """It is gone. The first reason is the true one, which whoever asks later is told as well."""
        from grader.core.submission import SubmissionError  # imports torch

        self._fate = (kind, message, line, source_line)
        return SubmissionError(kind, message, line=line, source_line=source_line, fatal=True)

    def _read_output(self) -> bytes:
        return os.pread(self._output.fileno(), SHOWN_OUTPUT, 0)


def _end(process: Launched, channel: Channel, output: IO[bytes]) -> None:
    """End the process group, and let go of everything."""
    process.end()
    channel.close()
    output.close()
