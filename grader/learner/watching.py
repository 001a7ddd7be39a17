"""Finds which file was saved last: watches a folder from a thread, and reads a file when it no longer changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from pathlib import Path

from grader.run.run import read_bounded

REST_S = 0.15  # a file that has not changed for so long is written
LOOK_S = 1.0  # between two looks where the file system tells nothing
PATIENCE_S = 3.0  # a file that is written to all the time is taken as it is


class Watcher:
    """Notes that something in some folders may have changed.

    Folders, not files: an editor may write a new file in place of the old one.

    Args:
        folders: to look at, without what lies deeper.

    Attributes:
        changed: set when something may have; the one who reads it clears it.
        ended: why nothing is noted any more, or "".
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self.changed, self.ended = threading.Event(), ""
        self._stop = threading.Event()
        self._folders = list(dict.fromkeys(folders))
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stop.set()
        self._thread.join(timeout=2)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._note()
            except OSError as error:
                self.ended = str(error) or type(error).__name__
                return
            except RuntimeError:
                # watchfiles gives up at any name that is not UTF-8. If it does so each time, this looks each second.
                self.changed.set()
                self._stop.wait(LOOK_S)

    def _note(self) -> None:
        from watchfiles import watch

        for _ in watch(
            *self._folders,
            watch_filter=None,
            debounce=200,
            step=50,
            rust_timeout=int(1000 * LOOK_S),
            yield_on_timeout=True,
            stop_event=self._stop,
            recursive=False,
        ):
            self.changed.set()


def folders_of(file: Path) -> list[Path]:
    """The folders in which a change of `file` shows: its own, and that of the file it leads to."""
    return [file.parent.absolute(), file.resolve().parent]


def stamp(file: Path) -> tuple[int, ...] | None:
    """Return what tells cheaply that a file is another than before; None if there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def content(file: Path) -> bytes | None:
    """The file's content, once it has come to rest; None if there is no file to read."""
    until, last = time.monotonic() + PATIENCE_S, _read(file)
    while time.monotonic() < until:
        time.sleep(REST_S)
        now = _read(file)
        if now == last:
            break
        last = now
    return last


def _read(file: Path) -> bytes | None:
    try:
        return read_bounded(file) if file.is_file() else None
    except OSError:
        return None
