"""Files written whole or not at all, and errors of the file system as sentences."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zoo.core.errors import ZooError


def require_part(path: Path) -> None:
    """Raises ZooError unless a file of a checkpoint is there."""
    if not path.is_file():
        raise ZooError(f"{path} is gone: the checkpoint is incomplete. Train again, or restore it.")


def write_whole(path: Path, data: bytes) -> None:
    """Put `data` at `path` in one step: all of it, on the disk, or nothing.

    What is half written has the name of `path` and ".partial". A link stays, and what it leads to is replaced; a
    device or a pipe is written to. Raises OSError.
    """
    if _is_stream(path):
        with path.open("ab") as file:
            file.write(data)
        return
    path = path.resolve()
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the new name too
    finally:
        os.close(folder)


def check_writable(path: Path) -> None:
    """Raises OSError if `write_whole` could not begin to write to `path`; leaves no file behind."""
    if path.is_fifo():
        return  # opened without a reader, it would wait
    path = path if _is_stream(path) else path.resolve().with_name(f"{path.resolve().name}.partial")
    there = path.exists()
    path.open("ab").close()
    if not there:
        path.unlink()


def _is_stream(path: Path) -> bool:
    """Return whether there is no file of this name to replace: /dev/stdout is one, whatever it leads to."""
    return path.absolute().parts[1:2] in (("dev",), ("proc",)) or (path.exists() and not path.is_file())


@contextmanager
def reporting_os_errors(what: str) -> Iterator[None]:
    """Turn an error of the file system into a ZooError that begins with `what`."""
    try:
        yield
    except OSError as error:
        reasons = {
            errno.ENOSPC: "the disk is full. What was there before is still there",
            errno.EDQUOT: "your disk quota is used up. What was there before is still there",
            errno.EACCES: "no permission",
            errno.ENOTDIR: "a part of the path is a file",
            errno.EISDIR: "it is a directory",
            errno.ENOENT: "there is no such file or directory",
        }
        reason = reasons.get(error.errno or 0, error.strerror or str(error))
        raise ZooError(f"{what}: {reason}.") from error
