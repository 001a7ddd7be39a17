"""Limits on resources: the part of the confinement that every Unix has. Standard library only."""

from __future__ import annotations

import resource
import sys

MAX_DESCRIPTORS = 64  # with the limit on a file's size, also what can be hidden in files without a name
MAX_DESCRIPTORS_CUDA = 256  # the driver opens its devices again and again


def apply(*, cpu_s: int, file_size: int, memory: int | None, descriptors: int = MAX_DESCRIPTORS) -> None:
    """Limit this process, for good.

    Args:
        cpu_s: CPU seconds; the soft limit ends the process, the hard one, a second later, if that is ignored.
        file_size: bytes in any one file.
        memory: bytes of address space; None for CUDA, which reserves far more addresses than it uses.
        descriptors: open files.
    """
    _limit(resource.RLIMIT_CPU, cpu_s, grace=1)
    _limit(resource.RLIMIT_FSIZE, file_size)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, descriptors)
    if memory is not None:
        _limit(resource.RLIMIT_AS, memory)


def _limit(which: int, value: int, grace: int = 0) -> None:
    _, hard = resource.getrlimit(which)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
        grace = min(grace, hard - value)
    try:
        resource.setrlimit(which, (value, value + grace))
    except (ValueError, OSError):
        if sys.platform.startswith("linux"):  # macOS refuses some; Linux refuses none of these
            raise
