"""Landlock: which files this process may still reach. Linux 5.13 and later; standard library only.

https://docs.kernel.org/userspace-api/landlock.html. A rule only grants, and to all that lies below a folder;
what no rule grants is refused, for good and for every later child.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable

from .privileges import check, libc
from .syscalls import LANDLOCK_ADD_RULE, LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(6))
MAKE_DIR, MAKE_REG = 1 << 7, 1 << 8
TRUNCATE, IOCTL_DEV = 1 << 14, 1 << 15
READ = READ_FILE | READ_DIR
CHANGE = READ | WRITE_FILE | REMOVE_FILE | REMOVE_DIR | MAKE_DIR | MAKE_REG | TRUNCATE
_OF_A_FILE = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV

_CREATE_VERSION = 1  # the flag that asks for the version
_RULE_PATH_BENEATH = 1


class _Ruleset(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """The kernel's version of Landlock; 0 where there is none."""
    return max(int(libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, _CREATE_VERSION)), 0)


def restrict(
    readable: Iterable[str], writable: Iterable[str], folders: Iterable[str], devices: Iterable[str] = ()
) -> None:
    """Leave this process nothing but these paths, no TCP, and (as far as the kernel goes) no one to signal.

    Paths that are not there are left out. Needs no_new_privs, and one thread: Landlock binds the calling one.

    Args:
        readable: files to read, and folders to read and list with all below.
        writable: files to read and write, and folders with such files.
        folders: folders in which files and folders may be made, changed and removed as well.
        devices: devices to read, write and control (ioctl).

    Raises:
        ConfinementError: the kernel has no Landlock, or refused.
    """
    kernel = check(int(libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, _CREATE_VERSION)), "Landlock")
    handled = _handled(kernel)
    size = 8 if kernel < 4 else 16 if kernel < 6 else 24
    ruleset = check(
        libc.syscall(LANDLOCK_CREATE_RULESET, ctypes.byref(handled), size, 0), "a ruleset of Landlock"
    )
    try:
        control = READ | WRITE_FILE | IOCTL_DEV
        granted = ((READ, readable), (READ | WRITE_FILE, writable), (CHANGE, folders), (control, devices))
        for access, paths in granted:
            for path in paths:
                _grant(ruleset, path, access & handled.files)
        check(libc.syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0), "Landlock")
    finally:
        os.close(ruleset)


def _handled(kernel: int) -> _Ruleset:
    """All that this kernel can refuse: 13 rights at first, then REFER, TRUNCATE, IOCTL_DEV; TCP; scopes."""
    files = 13 + (kernel >= 2) + (kernel >= 3) + (kernel >= 5)
    return _Ruleset((1 << files) - 1, 0b11 if kernel >= 4 else 0, 0b11 if kernel >= 6 else 0)


def _grant(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not there, or not for us anyway
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _OF_A_FILE
        rule = _PathBeneath(access, descriptor)
        check(
            libc.syscall(LANDLOCK_ADD_RULE, ruleset, _RULE_PATH_BENEATH, ctypes.byref(rule), 0),
            f"a rule of Landlock for {path}",
        )
    finally:
        os.close(descriptor)
