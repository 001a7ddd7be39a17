"""A CSV log that grows by a row a step, and can be taken up again after a row."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from pathlib import Path

from zoo.core.files import reporting_os_errors, write_whole


class Log:
    """A CSV file whose first column counts up: steps, or epochs.

    A row is with the system as soon as it is added, so that a process that is killed loses none.
    """

    def __init__(self, path: Path, columns: Sequence[str], after: int = 0) -> None:
        """Opens `path` after the row whose first column is `after`, dropping what follows it; 0 starts over.

        Raises:
            ZooError: the file cannot be read or written.
        """
        self.path = path
        with reporting_os_errors(f"The log '{path}' cannot be written"):
            kept = [line for line in _lines(path)[1:] if line.partition(",")[0].isdigit()] if after else []
            kept = [line for line in kept if int(line.partition(",")[0]) <= after]
            write_whole(path, "".join(f"{line}\n" for line in [",".join(columns), *kept]).encode())
            self._file = path.open("a", encoding="utf-8", newline="", buffering=1)
        self._writer = csv.writer(self._file, lineterminator="\n")

    def add(self, *row: float | int | str) -> None:
        """Append a row. Raises ZooError if the disk is full."""
        with reporting_os_errors(f"The log '{self.path}' cannot be written"):
            self._writer.writerow(row)

    def sync(self) -> None:
        """Make sure that what was added is on the disk."""
        with reporting_os_errors(f"The log '{self.path}' cannot be written"):
            self._file.flush()
            os.fsync(self._file.fileno())

    @property
    def closed(self) -> bool:
        """Return whether `close` was called."""
        return self._file.closed

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
