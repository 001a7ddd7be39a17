"""The set-up of a worker before it runs anything of a submission. Standard library only."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import site
import sys
from dataclasses import dataclass
from typing import Any

from . import confinement

PR_SET_PDEATHSIG = 1
PACKAGES = ("site-packages", "dist-packages")  # what folders of installed packages are called
KEPT_ENVIRONMENT = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
KEPT_FOR_CUDA = ("CUDA_", "NVIDIA_", "LD_LIBRARY_PATH", "USE_PYTORCH_KERNEL_CACHE")  # beginnings of names


@dataclass(frozen=True)
class Settings:
    """Settings that the judge sends to a worker at its start.

    Attributes:
        read, write: descriptors of the two pipes.
        parent: process id of the judge, or of the fork server.
        device: "cpu" or "cuda".
        cpu_s: CPU seconds, memory: bytes of address space (not with CUDA), output: bytes in any one file.
        paths: folders of packages, in which torch lies.
        level: of its confinement. scratch: the folder in which it may make files.
    """

    read: int
    write: int
    parent: int
    device: str
    cpu_s: int
    memory: int
    output: int
    paths: list[str]
    level: confinement.Level
    scratch: str


def prepare(settings: Settings) -> None:
    """End with the judge, or with the fork server; keep none of their descriptors and variables."""
    _die_with_parent(settings.parent)
    leave_judge({settings.read, settings.write}, settings.device, settings.paths)


def leave_judge(descriptors: set[int], device: str, paths: list[str]) -> None:
    """Close all descriptors but these and 0 to 2, empty the environment, and put packages on the path.

    The judge, or the fork server, made the session.
    """
    _close_all_but({0, 1, 2, *descriptors})
    for name in list(os.environ):
        if not environment_keeps(name, device):
            del os.environ[name]
    sys.path += [path for path in paths if path not in sys.path]
    site.setquit()  # Python was started without `site`, but people write exit()


def environment_keeps(name: str, device: str) -> bool:
    """Return whether a variable of the environment is for the worker."""
    return name in KEPT_ENVIRONMENT or (device == "cuda" and name.startswith(KEPT_FOR_CUDA))


def confine(settings: Settings) -> None:
    """Give up what a submission does not need. Called once, after torch is imported and before any of its code.

    Raises:
        ConfinementError: the level does not hold here.
    """
    confinement.apply(
        settings.level,
        scratch=settings.scratch,
        cpu_s=settings.cpu_s,
        file_size=settings.output,
        memory=None if settings.device == "cuda" else settings.memory,
        device=settings.device,
    )


def _die_with_parent(parent: int) -> None:
    """On Linux the kernel ends the worker with the judge; elsewhere the end of the pipe does."""
    if sys.platform.startswith("linux"):
        libc: Any = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it was gone before we asked
        os._exit(1)


def _close_all_but(kept: set[int]) -> None:
    start = 0
    for descriptor in sorted(kept):
        if start < descriptor:  # an empty range closes everything above it
            os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
