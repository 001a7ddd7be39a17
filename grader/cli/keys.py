"""Keys as they are pressed, from a terminal that is put back as it was, however the program ends."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import time
import tty
from types import FrameType, TracebackType
from typing import Any

GONE = "gone"  # what `Keys.read` gives when the terminal is gone


class Keys:
    """Single keys from standard input, unechoed. Where that is no terminal, there are none.

    A context manager. Within it SIGTERM and SIGHUP raise SystemExit, so that the terminal is put back.
    """

    def __init__(self) -> None:
        self._fd = -1
        self._before: list[Any] = []
        self._handlers: dict[int, Any] = {}

    @property
    def there(self) -> bool:
        """Whether keys can be pressed."""
        return self._fd >= 0

    def __enter__(self) -> Keys:
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                self._handlers[number] = signal.signal(number, _leave)
        try:
            if sys.stdin is not None and sys.stdin.isatty():
                self._before, self._fd = termios.tcgetattr(sys.stdin.fileno()), sys.stdin.fileno()
                self._handlers[signal.SIGCONT] = signal.signal(signal.SIGCONT, self._again)
                self._again(0, None)
        except (OSError, ValueError, termios.error):
            self._fd = -1
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if self.there:
            ignored = signal.signal(
                signal.SIGTTOU, signal.SIG_IGN
            )  # a program in the background would be stopped
            try:
                termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)
            except (OSError, termios.error):
                pass  # the terminal is gone
            finally:
                signal.signal(signal.SIGTTOU, ignored)

    def read(self, seconds: float) -> str:
        """The keys that were pressed, small letters, after at most so many seconds; or `GONE`."""
        if not self.there:
            time.sleep(seconds)
            return ""
        try:
            ready, _, _ = select.select([self._fd], [], [], seconds)
            pressed = os.read(self._fd, 64) if ready else None
        except OSError:
            pressed = b""
        if pressed is None:
            return ""
        if not pressed:
            return GONE
        return "" if pressed.startswith(b"\x1b") else pressed.decode("ascii", "ignore").lower()

    def _again(self, _number: int, _frame: FrameType | None) -> None:
        """Take keys one by one: at the start, and when the program goes on after Ctrl-Z."""
        if os.tcgetpgrp(self._fd) == os.getpgrp():
            tty.setcbreak(self._fd, termios.TCSADRAIN)


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
