"""Files written whole or not at all, and never over one that is there unless that is asked for."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from zoo.core.errors import ZooError


def is_file(path: Path) -> bool:
    """Return whether `path` is a regular file, or leads to one. Where nobody may look, there is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def write_new(path: Path, content: bytes) -> bool:
    """Write a file that is not there yet; False, and nothing is touched, if there is something of that name.

    Raises:
        ZooError: it cannot be written.
    """
    if os.path.lexists(path):
        return False
    with _beside(path, content) as written:
        try:
            os.link(written, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            if os.path.lexists(path):
                return False
            written.replace(path)
    return True


def replace(path: Path, content: bytes) -> None:
    """Write a file, in place of the one that is there.

    Raises:
        ZooError: it cannot be written; the old file is as it was.
    """
    with _beside(path, content) as written:
        with contextlib.suppress(OSError):
            shutil.copymode(path, written)
        written.replace(path)


def free_name(path: Path) -> Iterator[Path]:
    """Names to keep `path` aside under: "name.old.py", "name.old-2.py", and so on without end."""
    yield path.with_name(f"{path.stem}.old{path.suffix}")
    number = 2
    while True:
        yield path.with_name(f"{path.stem}.old-{number}{path.suffix}")
        number += 1


@contextlib.contextmanager
def _beside(path: Path, content: bytes) -> Iterator[Path]:
    """A file with this content in the folder of `path`, gone at the end. Raises ZooError for what goes wrong."""
    written = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        try:
            written.unlink(missing_ok=True)  # of a process that was killed
            with written.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            yield written
        finally:
            written.unlink(missing_ok=True)
    except OSError as error:
        raise ZooError(f"'{path}' cannot be written: {error.strerror or error}.") from error
