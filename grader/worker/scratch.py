"""The folder in which a submission may make files: how much is in it, and its end. Standard library only."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

MOST_BYTES = 64 * 2**20
MOST_FILES = 1_000
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def is_full(folder: str) -> bool:
    """Return whether more is in the folder than a submission may put there: in bytes, in number, or too deep to see."""
    left, found, size = [folder], 0, 0
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    found += 1
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if found > MOST_FILES or size > MOST_BYTES:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except FileNotFoundError:  # removed meanwhile
            continue
        except OSError:  # a path too long, or a folder closed to us: no honest one
            return True
    return False


def hides_files(pid: int, folder: str, file_size: int) -> bool:
    """Return whether a process has more in memory of files that it has removed from the folder than may be in it.

    Args:
        file_size: bytes that a file may have: each of them may be as large.
    """
    try:
        maps = Path(f"/proc/{pid}/maps").read_bytes().splitlines()
    except OSError:  # it has ended, or the system does not say
        return False
    inside, removed = os.fsencode(folder) + b"/", b" (deleted)"
    fields = (line.split(maxsplit=5) for line in maps if line.endswith(removed))
    files = {tuple(field[3:5]) for field in fields if field[5].startswith(inside)}  # device and inode
    return len(files) * file_size > MOST_BYTES


def remove(folder: str) -> None:
    """Remove the folder, whatever a submission did to it: however deep, and without the permissions to.

    What cannot be removed stays, without an error. Nothing may run in it any more.
    """
    with contextlib.suppress(OSError):
        _remove(Path(folder))


def _remove(folder: Path) -> None:
    """Go down into the first folder there is, up again from one that is empty: no path is ever long."""
    folder.chmod(0o700)
    here = os.open(folder, _FOLDER)
    names = [folder.name]
    try:
        while names:
            deeper = _emptied(here)
            if deeper:
                os.chmod(deeper, 0o700, dir_fd=here)
                names.append(deeper)
            other = os.open(deeper or "..", _FOLDER, dir_fd=here)
            os.close(here)
            here = other
            if not deeper:
                os.rmdir(names.pop(), dir_fd=here)
    finally:
        os.close(here)


def _emptied(here: int) -> str:
    """Remove the files of a folder up to its first own folder. Gives the name of that, or ""."""
    with os.scandir(here) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                return entry.name
            os.unlink(entry.name, dir_fd=here)
    return ""
