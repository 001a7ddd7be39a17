"""Keys as they are pressed, from a terminal that is put back as it was, however the program ends."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import termios
import time
import tty
from types import FrameType, TracebackType
from typing import Any, NoReturn

GONE = "gone"  # what `Keys.read` gives when the terminal is gone
_ESCAPED = re.compile(r"\x1b(\[[0-9;]*[A-Za-z~]|O.)?")  # what arrows and the like send


class Keys:
    """Single keys from standard input, unechoed. If that is not a terminal, there are none.

    A context manager. Within it Ctrl-C, SIGTERM and SIGHUP end the program from `read` only, so that nothing is left
    half done; a second one ends it where it stands.
    """

    def __init__(self) -> None:
        self._fd = -1
        self._before: list[Any] = []
        self._handlers: dict[int, Any] = {}
        self._ended_by = 0  # number of a signal

    @property
    def there(self) -> bool:
        """Return whether keys can be pressed."""
        return self._fd >= 0

    def __enter__(self) -> Keys:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                self._handlers[number] = signal.signal(number, self._end)
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
        """The keys that were pressed, small letters, after at most so many seconds; or `GONE`.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
            SystemExit: another signal has come.
        """
        if not self.there:
            time.sleep(seconds)
        try:
            ready = select.select([self._fd], [], [], seconds)[0] if self.there else []
            pressed = os.read(self._fd, 64) if ready else None
        except OSError:
            pressed = b""
        if self._ended_by:
            self._leave()
        if pressed is None:
            return ""
        if not pressed:
            return GONE
        return _ESCAPED.sub("", pressed.decode("ascii", "ignore")).lower()

    def _again(self, _number: int, _frame: FrameType | None) -> None:
        """Take keys one by one: at the start, and when the program goes on after Ctrl-Z."""
        if os.tcgetpgrp(self._fd) == os.getpgrp():
            tty.setcbreak(self._fd, termios.TCSADRAIN)

    def _end(self, number: int, _frame: FrameType | None) -> None:
        """Note that the program is to end, or end it if that was said before."""
        if self._ended_by:
            self._leave()
        self._ended_by = number

    def _leave(self) -> NoReturn:
        if self._ended_by == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + self._ended_by)
