"""Confinement: what a process gives up, for good, before it runs a submission. Standard library only.

`strict` needs Linux on x86-64 or aarch64, with Landlock and seccomp; `process` is what every Unix has. Whether a level
holds on a machine is not judged here but tried, by `grader.worker.canary`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from . import limits
from .errors import ConfinementError

Level = Literal["strict", "process"]

__all__ = ["ConfinementError", "Level", "apply", "look_ahead"]


def look_ahead() -> None:
    """Find out what the strict level needs to know, before a fork: the children then need not."""
    from . import reach

    reach.readable()


def apply(
    level: Level, *, scratch: str, cpu_s: int, file_size: int, memory: int | None, device: str = "cpu"
) -> None:
    """Confine this process. All that it needs and may not read later must be imported by now.

    Args:
        level: "strict" or "process" (the limits only).
        scratch: the folder in which it may still make files, as an absolute path.
        cpu_s, file_size, memory: see `limits.apply`.
        device: "cuda" also leaves what its driver needs (`cuda`), which must not have been started yet: its threads
            would not be confined.

    Raises:
        ConfinementError: the level does not hold here.
    """
    descriptors = limits.MAX_DESCRIPTORS_CUDA if device == "cuda" else limits.MAX_DESCRIPTORS
    limits.apply(cpu_s=cpu_s, file_size=file_size, memory=memory, descriptors=descriptors)
    if level == "strict":
        _strict(scratch, device == "cuda")


def _strict(scratch: str, on_cuda: bool) -> None:
    from . import cuda, landlock, privileges, reach, seccomp  # not to be had on macOS

    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads != 1:  # Landlock and seccomp bind the thread that asks for them
        raise ConfinementError(f"{threads} threads run already, where one can be confined")
    sys.dont_write_bytecode = True
    readable: list[str] = [*reach.readable(), *(cuda.readable() if on_cuda else ())]
    writable = [*reach.DEVICES, *([cuda.TASKS] if on_cuda else ())]
    devices = cuda.devices() if on_cuda else []
    reach.prepare_imports()
    privileges.drop()
    landlock.restrict(readable, writable, [scratch], devices)
    seccomp.restrict(on_cuda)
