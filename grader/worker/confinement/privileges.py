"""No new privileges, and none of root's. Linux only; standard library only."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Any

from .errors import ConfinementError
from .syscalls import CAPSET

PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522

libc: Any = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> int:
    """The result of a system call. Raises ConfinementError, with the kernel's reason, if it is negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise ConfinementError(number, f"{what}: {os.strerror(number)}")
    return result


def drop() -> None:
    """Give up every capability (root's too), and the way to get one by running a program.

    Without capabilities root cannot raise its limits, look into other processes or pass by permissions.

    Raises:
        ConfinementError: the kernel refused.
    """
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)  # 0: this process
    nothing = (ctypes.c_uint32 * 6)()
    check(libc.syscall(CAPSET[platform.machine()], header, nothing), "capset")
