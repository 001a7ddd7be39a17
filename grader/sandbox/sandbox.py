"""The sandbox: its level, found by trial, and where workers come from. Imports no torch."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, get_args

from grader.sandbox.fork_server import ForkServer
from grader.sandbox.launch import package_paths, start, temporary_folder
from grader.sandbox.process import Limits, Worker
from grader.worker.confinement import Level
from grader.worker.fork_server import PR_SET_DUMPABLE
from zoo.core.errors import ZooError

Asked = Literal["auto", "strict", "process"]
ASKED: tuple[str, ...] = get_args(Asked)

CANARY_S = {"cpu": 30.0, "cuda": 180.0}  # on CUDA it imports torch and starts the driver
_SECRET = Path(__file__).resolve().parent.parent / "exercises" / "__init__.py"
_LINUX = sys.platform.startswith("linux")


class Sandbox:
    """Holds the submissions of one run. Starts nothing before it is asked to. Use it as a context manager.

    Args:
        asked: "strict" (that or nothing), "process", or "auto": the best that holds here.
    """

    def __init__(self, asked: Asked = "auto") -> None:
        self.asked = asked
        self._server = ForkServer()
        self._canaries: dict[str, Canary] = {}

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start what a worker on the CPU will need, and do not wait for it. This process can then no more be traced
        or read by others of the same user: it has the answers in its memory, and no level but strict would forbid it.
        """
        if _LINUX:
            ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
            self._server.start()
        if self.asked != "process":
            self._look("cpu")

    def level(self, device: str) -> Level:
        """The level at which submissions are held on a device.

        Raises:
            ZooError: "strict" was asked for, and does not hold.
        """
        reason = self._against_strict(device)
        if not reason:
            return "strict"
        if self.asked == "strict":
            on_cpu = "" if device == "cpu" else "Try --device=cpu. "
            raise ZooError(
                f"--sandbox=strict is not available here: {reason}. {on_cpu}"
                "Submissions that you trust can be graded with --sandbox=process."
            )
        return "process"

    def fallback_reason(self, device: str) -> str:
        """Why "auto" did not find "strict" for a device; "" if it did, or if another level was asked for."""
        return self._against_strict(device) if self.asked == "auto" else ""

    def worker(self, device: str, limits: Limits | None = None) -> Worker:
        """A fresh worker. Raises ZooError as `level` does, GraderBrokenError if there can be none."""
        level = self.level(device)
        forked = _LINUX and device == "cpu"  # a fork of a process that uses CUDA cannot use it
        return Worker(device, limits, level=level, server=self._server if forked else None)

    def close(self) -> None:
        """End the fork server, with all workers. Harmless when repeated."""
        self._server.close()
        for canary in self._canaries.values():
            canary.close()

    def _look(self, device: str) -> Canary:
        if device not in self._canaries:
            self._canaries[device] = Canary(device=device)
        return self._canaries[device]

    def _against_strict(self, device: str) -> str:
        """Why the level is not "strict", or ""."""
        if self.asked == "process":
            return "it was not requested"
        return self._look(device).verdict()


class Canary:
    """A process that confines itself and tries to break out (`grader.worker.canary`). Started at once, not awaited.

    Args:
        level: the level that it tries; "process" shows that the acts do come off where nothing prevents them.
        device: "cpu", or "cuda" to try the card too.

    Raises:
        GraderBrokenError: it cannot be started.
    """

    def __init__(self, level: Level = "strict", device: str = "cpu") -> None:
        self._device = device
        self._report: dict[str, Any] | None = None
        self._sockets = contextlib.ExitStack()
        self._memory = ctypes.create_string_buffer(b"secret!")
        unix = f"zoo-{secrets.token_hex(8)}"
        target = {
            "secret": str(_SECRET),
            "home": str(_home()),
            "outside": str(Path(temporary_folder(), unix)),
            "tcp": self._listen(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "udp": self._listen(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "unix": unix,
            "parent": os.getpid(),
            "address": ctypes.addressof(self._memory),
        }
        if _LINUX:  # elsewhere there are no names without a file
            self._listen(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + unix)
        self._process = start(
            "canary",
            {"level": level, "device": device, "paths": package_paths(), "target": target},
            output=subprocess.PIPE,
            errors=subprocess.DEVNULL,
            device=device,
        )

    def verdict(self) -> str:
        """Why the level does not hold, or "". Waits for the canary."""
        report = self.report()
        if "refused" in report:
            return str(report["refused"])
        if report.get("done") == []:
            return ""
        if "done" in report:
            return f"a trial process could {', '.join(report['done'])}"
        return "a trial process ended before it could report its confinement"

    def report(self) -> dict[str, Any]:
        """Return the canary's report: `done`, the acts that succeeded, or `refused`, why it could not be confined."""
        if self._report is None:
            try:
                out, _ = self._process.communicate(timeout=CANARY_S[self._device])
                found = json.loads(out)
            except (subprocess.TimeoutExpired, ValueError):
                found = {}
            self._report = found if isinstance(found, dict) else {}
            self.close()
        return self._report

    def close(self) -> None:
        """End it, and close what it was to attack."""
        self._sockets.close()
        if self._process.returncode is None:
            self._process.kill()
            self._process.communicate()

    def _listen(self, family: socket.AddressFamily, kind: socket.SocketKind, address: Any) -> int:
        """Open a socket that can be reached; its port. 0 where this machine has no such thing."""
        try:
            one = self._sockets.enter_context(socket.socket(family, kind))
            one.bind(address)
            if kind == socket.SOCK_STREAM:
                one.listen()
        except OSError:
            return 0
        name = one.getsockname()
        return int(name[1]) if family == socket.AF_INET else 0


def _home() -> Path:
    """A folder that a submission has no business in: the home folder, or the root for a user who has none."""
    try:
        home = Path.home()
    except RuntimeError:  # neither HOME nor an entry for this user
        return Path("/")
    return home if home.is_dir() else Path("/")
