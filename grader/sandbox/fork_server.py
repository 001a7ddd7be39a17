"""The judge's end of the fork server: one process, from which all workers of a run are forked. Imports no torch."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import weakref
from typing import IO, Any

from grader.core.results import GraderBrokenError
from grader.sandbox.launch import nameless_file, package_paths, start
from grader.worker import scratch

MAX_MESSAGE = 64 * 2**10
END_S = 30.0  # to end a worker and remove its folder


class ForkServer:
    """A process that has imported torch, and forks a worker of itself for each submission. Linux only.

    It is started on first use, and again after it has died. It ends, with all its workers and their folders, when
    it is closed and when the judge dies, however that comes about.
    """

    def __init__(self) -> None:
        self._running: _Running | None = None

    @property
    def pid(self) -> int | None:
        """Its process id; None while there is none."""
        return self._running.process.pid if self._running is not None and self._running.alive else None

    def start(self) -> None:
        """Start it if it does not run, and do not wait for it."""
        if self._running is None or not self._running.alive:
            self.close()
            self._running = _Running()

    def launch(self, settings: dict[str, Any], output: IO[bytes]) -> Forked:
        """Ask for a worker, and do not wait for it. The caller closes the descriptors that it gives.

        Args:
            settings: of `grader.worker.startup.Settings`, but for `parent`.
            output: where it prints.
        """
        self.start()
        assert self._running is not None
        return Forked(self._running, settings, output)

    def close(self) -> None:
        """End it, with all its workers. Harmless when repeated."""
        if self._running is not None:
            self._running.close()
        self._running = None


class Forked:
    """A worker from the fork server: `grader.sandbox.launch.Launched`."""

    returncode: int | None = None
    reason = ""

    def __init__(self, server: _Running, settings: dict[str, Any], output: IO[bytes]) -> None:
        self._server, self._folder = server, settings["scratch"]
        self._pid: int | None = None
        self._problem = ""  # why there is no process
        read, write = settings["read"], settings["write"]
        others = {name: value for name, value in settings.items() if name not in ("read", "write")}
        self._number = server.send({"settings": others}, [read, write, output.fileno()])

    @property
    def pid(self) -> int:
        self.wait_started(time.monotonic() + END_S)
        assert self._pid is not None
        return self._pid

    def wait_started(self, deadline: float) -> None:
        """Wait until there is a process.

        Raises:
            GraderBrokenError: it could not be made.
            EOFError: the fork server was killed.
        """
        if self._pid is None and not self._problem:  # there is one answer
            answer = self._server.receive(self._number, deadline)
            self._pid, self._problem = answer.get("pid"), answer.get("error", "")
        if self._problem:
            raise GraderBrokenError(f"The process for the submission could not start: {self._problem}.")

    def end(self) -> None:
        """End its process group, and remove its folder; also when the fork server is gone."""
        try:
            self.wait_started(time.monotonic() + END_S)
            number = self._server.send({"id": self._number})
            answer = self._server.receive(number, time.monotonic() + END_S)
            self.returncode, self.reason = answer["status"], answer["reason"]
        except GraderBrokenError:  # there is no process
            scratch.remove(self._folder)
        except EOFError:
            if (
                self._pid is not None
            ):  # it dies with its server, unless it has forbidden the kernel to kill it
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._pid, signal.SIGKILL)
            self.returncode = -signal.SIGKILL
            scratch.remove(self._folder)


class _Running:
    """One life of a fork server: its process, and the socket to it."""

    def __init__(self) -> None:
        self._said = nameless_file()
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        settings = {"socket": theirs.fileno(), "paths": package_paths()}
        try:
            self.process = start("server", settings, keep=(theirs.fileno(),), output=self._said)
        except GraderBrokenError:
            self._socket.close()
            self._said.close()
            raise
        finally:
            theirs.close()
        self._end = weakref.finalize(self, _end_server, self.process, self._socket, self._said)
        self._sent = 0
        self._answers: dict[int, dict[str, Any]] = {}

    @property
    def alive(self) -> bool:
        return self._end.alive and self.process.poll() is None

    def close(self) -> None:
        self._end()

    def send(self, request: dict[str, Any], descriptors: list[int] | None = None) -> int:
        """Send a request; its number. One without `id` gets it for one. A server that is gone shows on `receive`."""
        self._sent += 1
        message = json.dumps({"id": self._sent, **request}).encode()
        with contextlib.suppress(OSError):
            socket.send_fds(self._socket, [message], descriptors or [])
        return int(request.get("id", self._sent))

    def receive(self, number: int, deadline: float) -> dict[str, Any]:
        """The answer to a request.

        Raises:
            EOFError: the server was killed, or does not answer in time; it is gone then.
            GraderBrokenError: it ended itself.
        """
        while number not in self._answers:
            try:
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                message = self._socket.recv(MAX_MESSAGE)
            except OSError:  # also of time
                message = b""
            if not message:
                self._fail()
            answer = json.loads(message)
            self._answers[answer["id"]] = answer
        return self._answers.pop(number)

    def _fail(self) -> None:
        said = b""
        if self._end.alive:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=1.0)
            said = os.pread(self._said.fileno(), MAX_MESSAGE, 0)[-2_000:]
        self.close()
        code = self.process.returncode
        if code is not None and code > 0:
            raise GraderBrokenError(
                f"The process that makes workers ended itself:\n{said.decode(errors='replace')}"
            )
        raise EOFError("the process that makes workers is gone")


def _end_server(process: subprocess.Popen[bytes], ours: socket.socket, said: IO[bytes]) -> None:
    """Close the socket, on which the server ends its workers and itself; make sure that it does."""
    ours.close()
    try:
        process.wait(timeout=END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    said.close()
