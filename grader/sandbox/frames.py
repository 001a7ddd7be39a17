"""The judge's end of the two pipes: frames with deadlines both ways. Imports no torch."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import time
from collections.abc import Sequence
from typing import Any

from grader.worker.frames import (
    IOV_MAX,
    PREFIX,
    FrameError,
    StreamEndedError,
    advanced,
    decode,
    encode,
    lengths,
)

__all__ = ["Channel", "DeadlineError", "FrameError", "StreamEndedError"]

PIPE_SIZE = 2**20


class DeadlineError(TimeoutError):
    """The other side did not read, or did not answer, in time."""


class Channel:
    """Frames over two descriptors, which it owns. Nothing here waits beyond its timeout.

    Args:
        read: descriptor from which the other side's frames come.
        write: descriptor to which ours go.
    """

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write = read, write
        for descriptor in (read, write):
            os.set_blocking(descriptor, False)
            if hasattr(fcntl, "F_SETPIPE_SZ"):  # Linux: fewer switches between the two processes
                with contextlib.suppress(OSError):
                    fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_SIZE)

    def send(self, header: dict[str, Any], buffers: Sequence[memoryview], deadline: float) -> None:
        """Write one frame.

        Args:
            deadline: on the clock of `time.monotonic`.

        Raises:
            FrameError: it would be too long; nothing is written.
            DeadlineError: the other side does not read.
            StreamEndedError: the other side is gone.
        """
        first = encode(header, sum(len(buffer) for buffer in buffers))
        left = [memoryview(first), *buffers]
        while left:
            try:
                left = advanced(left, os.writev(self._write, left[:IOV_MAX]))
            except BlockingIOError:
                _wait(self._write, select.POLLOUT, deadline)
            except BrokenPipeError:
                raise StreamEndedError from None

    def receive(self, deadline: float) -> tuple[dict[str, Any], bytearray]:
        """Read one frame: its header, and its body, for which the memory is new.

        Raises:
            FrameError: what came is no frame.
            DeadlineError: it did not come in time.
            StreamEndedError: the other side is gone.
        """
        prefix = bytearray(PREFIX.size)
        self._fill([memoryview(prefix)], deadline)
        header_size, body_size = lengths(prefix)
        header, body = bytearray(header_size), bytearray(body_size)
        self._fill([memoryview(header), memoryview(body)], deadline)
        return decode(header), body

    def close(self) -> None:
        """Close both descriptors."""
        for descriptor in (self._read, self._write):
            os.close(descriptor)

    def _fill(self, buffers: list[memoryview], deadline: float) -> None:
        left = [buffer for buffer in buffers if len(buffer)]
        while left:
            try:
                done = os.readv(self._read, left)
            except BlockingIOError:
                _wait(self._read, select.POLLIN, deadline)
                continue
            if done == 0:
                raise StreamEndedError
            left = advanced(left, done)


def _wait(descriptor: int, event: int, deadline: float) -> None:
    """Wait until the descriptor is ready. A side that dribbles does not put the deadline off."""
    left = deadline - time.monotonic()
    poll = select.poll()
    poll.register(descriptor, event)
    if left <= 0 or not poll.poll(left * 1000):
        raise DeadlineError
