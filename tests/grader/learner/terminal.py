"""A command on a terminal of its own, as a person has it: what it shows, keys that are pressed, how it ends."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

from tests.zoo.cli.conftest import ROOT

# Where tests run in the background, SIGINT and SIGHUP may come ignored, and Python then leaves them so.
START = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    "from zoo.cli import main; main()"
)


class Terminal:
    """`zoo` with these arguments, 80 columns wide; a context manager that leaves nothing running."""

    def __init__(self, *arguments: str, cwd: Path, **env: str) -> None:
        self._master, self._slave = pty.openpty()
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = self.modes()
        self.shown = ""
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, *arguments],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", **env},
            start_new_session=True,
            preexec_fn=self._take,
        )

    def _take(self) -> None:
        fcntl.ioctl(self._slave, termios.TIOCSCTTY, 0)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_exception: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=30)
        os.close(self._master)
        os.close(self._slave)

    def modes(self) -> list[Any]:
        """The terminal's modes."""
        return termios.tcgetattr(self._slave)

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def wait_for(self, text: str, seconds: float = 300) -> str:
        """What is shown from now on, up to `text`. Fails if that does not come."""
        until, seen = time.monotonic() + seconds, ""
        while text not in seen:
            assert time.monotonic() < until, f"{text!r} did not come, but {self.shown[-3000:]!r}"
            found = self._read()
            seen, self.shown = seen + found, self.shown + found
            assert found or self.process.poll() is None, f"ended without {text!r}: {self.shown[-3000:]!r}"
        return seen

    def end(self, seconds: float = 30) -> int:
        """Wait for the end; the exit code."""
        until = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < until, "does not end"
            self.shown += self._read()
        self.shown += self._read()
        return int(self.process.returncode)

    def _read(self) -> str:
        ready, _, _ = select.select([self._master], [], [], 0.1)
        return os.read(self._master, 1 << 16).decode("utf-8", "replace") if ready else ""
