"""The folder in which a submission may make files: how much is in it, and its end. Standard library only."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from pathlib import Path

MOST_BYTES = 64 * 2**20
MOST_FILES = 1_000


def is_full(folder: str) -> bool:
    """Whether more is in the folder than a submission may put there: in bytes, in number, or too deep to see."""
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


def remove(folder: str) -> None:
    """Remove the folder, whatever a submission did to it: however deep, and without the permissions to.

    What cannot be removed stays, without an error. Nothing may run in it any more.
    """
    with contextlib.suppress(OSError):
        while Path(folder).is_dir():
            _remove_a_level(folder)
    shutil.rmtree(folder, ignore_errors=True)


def _remove_a_level(folder: str) -> None:
    """Remove files, and folders of the first level, after their own folders were moved up: no path gets long."""
    for name in _emptied(folder):
        inner = f"{folder}/{name}"
        for deeper in _emptied(inner):
            Path(inner, deeper).chmod(0o700)  # to move a folder, it must be writable itself
            Path(inner, deeper).rename(f"{folder}/{secrets.token_hex(8)}")
        Path(inner).rmdir()
    if not os.listdir(folder):  # noqa: PTH208
        Path(folder).rmdir()


def _emptied(folder: str) -> list[str]:
    """Remove the files of a folder. Gives the names of its folders."""
    Path(folder).chmod(0o700)
    folders = []
    with os.scandir(folder) as entries:
        for entry in list(entries):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                Path(entry.path).unlink()
    return folders
