"""seccomp: which system calls this process may still make. x86-64 and aarch64; standard library only.

https://docs.kernel.org/userspace-api/seccomp_filter.html. A filter is a program for the kernel's small machine of
classic BPF: it loads words of the call (number, architecture, arguments), compares, and says what is to happen.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from collections.abc import Sequence

from .errors import ConfinementError
from .privileges import check, libc
from .syscalls import ARCHITECTURES, CLONE3, allowed

PR_SET_SECCOMP = 22
_MODE_FILTER = 2
_LOAD, _AND, _JUMP_EQUAL, _RETURN = (
    0x20,
    0x54,
    0x15,
    0x06,
)  # a word; its bits; if it equals a constant; the verdict
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000

# Calls of which only some are harmless: the argument that tells, and its harmless values.
_FCNTL = (0, 1, 2, 3, 4, 1030)  # F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC
_IOCTL = (0x5401, 0x5413, 0x5450, 0x5451)  # TCGETS and TIOCGWINSZ (isatty), FIONCLEX, FIOCLEX
_PRCTL = (15, 16, 0x53564D41)  # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA (of the C library)
# With CUDA: threads, as the C library makes them (CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, SETTLS, PARENT_SETTID,
# CHILD_CLEARTID), and so no processes; F_ADD_SEALS and F_GET_SEALS; the driver's ioctls: type 'F', and for unified
# memory plain numbers and two others.
_CLONE = (0x3D0F00,)
_FCNTL_CUDA = (*_FCNTL, 1033, 1034)
_IOCTL_CUDA = (*_IOCTL, (0xFF00, ord("F") << 8), (0xFFFFFF00, 0), 0x30000001, 0x30000002)

_Value = int | tuple[int, int]  # all of a word, or some bits of it (a mask) and their value
_Condition = tuple[int, Sequence[_Value]]  # offset of a word, its values
Instruction = tuple[int, int, int, int]  # code, where to jump if true, if false, constant


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def program(machine: str, pid: int, cuda: bool = False) -> list[Instruction]:
    """The filter: what is on the list is allowed, everything else fails with EPERM.

    Args:
        machine: as `platform.machine` names it.
        pid: this process, the only one that it may signal.
        cuda: also allow what the driver of CUDA needs.

    Raises:
        ConfinementError: the machine is another than x86-64 and aarch64.
    """
    if machine not in ARCHITECTURES:
        raise ConfinementError(errno.ENOSYS, f"no list of system calls for {machine}")
    numbers = allowed(machine, cuda)
    checked: dict[str, list[_Condition]] = {  # every one of the conditions has to hold
        "clone": [(_argument(0), _CLONE)],
        "fcntl": [(_argument(1), _FCNTL_CUDA if cuda else _FCNTL)],
        "ioctl": [(_argument(1), _IOCTL_CUDA if cuda else _IOCTL)],
        "prctl": [(_argument(0), _PRCTL)],
        **{name: [(_argument(0), (pid,))] for name in ("kill", "tkill", "tgkill")},
        "prlimit64": [(_argument(0), (0, pid)), (_argument(2), (0,)), (_argument(2) + 4, (0,))],
    }
    code: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),  # another machine's numbers (32 bits) mean other calls
        (_LOAD, 0, 0, _NUMBER),
    ]
    for name, number in numbers.items():
        code += _if_number(number, _conditions(checked.get(name, ())))
    code += _if_number(CLONE3, [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)])
    return [*code, (_RETURN, 0, 0, _ERRNO | errno.EPERM)]


def restrict(cuda: bool = False) -> None:
    """Leave this process the system calls of the list, for good. Needs no_new_privs.

    Args:
        cuda: see `program`.

    Raises:
        ConfinementError: the kernel has no seccomp, or refused; or the machine is not known.
    """
    code = b"".join(_packed(one) for one in program(platform.machine(), os.getpid(), cuda))
    buffer = ctypes.create_string_buffer(code, len(code))
    filter_ = _Program(len(code) // 8, ctypes.addressof(buffer))
    check(libc.prctl(PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(filter_), 0, 0), "seccomp")


def _argument(index: int) -> int:
    """Offset of an argument's low half; both machines are little-endian."""
    return _ARGUMENTS + 8 * index


def _if_number(number: int, block: list[Instruction]) -> list[Instruction]:
    """Run the block, which ends in a verdict, if the loaded word is this number."""
    return [(_JUMP_EQUAL, 0, len(block), number), *block]


def _conditions(conditions: Sequence[_Condition]) -> list[Instruction]:
    """Allow the call if every one of these words has one of its values."""
    block: list[Instruction] = []
    for offset, values in conditions:
        tests: list[Instruction] = []
        for value in reversed(values):  # each jumps behind the refusal, and so over all that follow it
            mask, word = value if isinstance(value, tuple) else (0xFFFFFFFF, value)
            tests = [
                (_LOAD, 0, 0, offset),
                (_AND, 0, 0, mask),
                (_JUMP_EQUAL, len(tests) + 1, 0, word),
                *tests,
            ]
        block += [*tests, (_RETURN, 0, 0, _ERRNO | errno.EPERM)]
    return [*block, (_RETURN, 0, 0, _ALLOW)]


def _packed(instruction: Instruction) -> bytes:
    code, true, false, constant = instruction
    return code.to_bytes(2, "little") + bytes((true, false)) + constant.to_bytes(4, "little")
