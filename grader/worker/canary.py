"""The canary: confines itself as a worker does, then really tries what no submission may do. Standard library only.

It says on standard output, as JSON, which of these acts came off. A level holds where none does. Nothing is
harmed if one does: the signal is SIGCONT, the ptrace ends with the canary, the file is removed again.

For CUDA it first uses the card, as a confined worker will: it starts the driver, multiplies two matrices, and
differentiates their product. Then it tries the acts, with all that the driver has opened and started.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import importlib
import json
import os
import platform
import resource
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import confinement
from .confinement import cuda, syscalls
from .failures import OUTPUT_LIMIT
from .startup import leave_judge

PTRACE_SEIZE = 0x4206
WAIT_S = 2.0  # for a connection, to a socket that listens on this machine


@dataclass(frozen=True)
class Target:
    """The targets that the judge sets up to be attacked.

    Attributes:
        secret: a file that a worker must not read, home: a folder that it must not list.
        outside: a file that does not exist yet, outside the scratch folder.
        tcp, udp: ports of the judge's own sockets on 127.0.0.1; unix: the name of its abstract socket.
        parent: the judge; address: where some of its memory is.
        cards: device files of the GPUs that are not for the worker.
    """

    secret: str
    home: str
    outside: str
    tcp: int
    udp: int
    unix: str
    parent: int
    address: int
    cards: Sequence[str] = ()


def main(settings: dict[str, Any]) -> None:
    """Confine this process, try every act, and say which came off.

    Args:
        settings: `level`, `device`, `paths` (as in `startup.Settings`) and `target`, the fields of `Target`.
    """
    device = settings["device"]
    leave_judge(set(), device, settings["paths"])
    if device == "cuda":
        importlib.import_module("torch")  # as a worker: before it is confined
    cards = cuda.other_cards() if device == "cuda" else []  # cannot be listed later
    target = Target(**settings["target"], cards=cards)
    memory, cpu_s, file_size = (None, 60, OUTPUT_LIMIT) if device == "cuda" else (2**32, 10, 2**20)
    try:
        confinement.apply(
            settings["level"], scratch="", cpu_s=cpu_s, file_size=file_size, memory=memory, device=device
        )
    except OSError as error:
        print(json.dumps({"refused": str(error)}))
        return
    try:
        if device == "cuda":
            _use_card()
    except (RuntimeError, AssertionError, OSError) as error:  # AssertionError: a torch without CUDA
        reason = str(error).partition("\n")[0]  # advice on debugging follows
        print(json.dumps({"refused": f"CUDA cannot be used in a confined process: {reason}"}))
        return
    print(json.dumps({"done": [name for name, act in ACTS.items() if _comes_off(act, target)]}))


def _use_card() -> None:
    """Start the driver, multiply two matrices, and differentiate (by a thread of torch). Raises if one of it fails."""
    torch = importlib.import_module("torch")
    ones = torch.ones(64, 64, device="cuda", requires_grad=True)
    total = (ones @ ones).sum()
    total.backward()
    if (float(total), float(ones.grad.sum())) != (64.0**3, 2 * 64.0**3):
        raise RuntimeError("a product of two matrices, or its gradient, is wrong")


def _comes_off(act: Callable[[Target], object], target: Target) -> bool:
    try:
        act(target)
    except (OSError, ValueError):  # ValueError: how Python tells that a limit may not be raised
        return False
    return True


def _write(target: Target) -> None:
    Path(target.outside).write_text("x", encoding="utf-8")
    Path(target.outside).unlink()


def _fork(_: Target) -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    _reap(pid)


def _run(_: Target) -> None:
    pid = os.posix_spawn(sys.executable, [sys.executable, "-I", "-S", "-c", ""], {})
    _reap(pid)


def _reap(pid: int) -> None:
    """Wait for a process that did start, where that is allowed: that it is not says nothing of the start."""
    with contextlib.suppress(OSError):
        os.waitpid(pid, 0)


def _run_from_memory(_: Target) -> None:
    """An empty file, so that nothing is run: where it might be, the kernel says only that it is no program."""
    memfd_create = syscalls.allowed(platform.machine(), cuda=True)["memfd_create"]  # some Pythons have none
    file = _call("syscall", memfd_create, b"program", 0)
    try:
        os.execve(file, ["program"], {})
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise


def _open_card(target: Target) -> None:
    def opens(card: str) -> bool:
        return _comes_off(lambda _: os.close(os.open(card, os.O_RDWR)), target)

    if not any(map(opens, target.cards)):
        raise PermissionError("none of them can be opened")


def _connect(family: socket.AddressFamily, kind: socket.SocketKind, address: Any) -> None:
    with socket.socket(family, kind) as own:
        own.settimeout(WAIT_S)
        own.connect(address)
        own.send(b"x")


def _call(name: str, *arguments: Any) -> int:
    """The result of a function of the C library. Raises OSError if it fails."""
    libc: Any = ctypes.CDLL(None, use_errno=True)
    function = getattr(libc, name)
    function.restype = ctypes.c_int  # -1 is all that matters
    result = int(function(*arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def _read_memory(target: Target) -> None:
    buffer = ctypes.create_string_buffer(8)
    own = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 8)
    theirs = (ctypes.c_size_t * 2)(target.address, 8)
    _call(
        "process_vm_readv",
        target.parent,
        own,
        ctypes.c_ulong(1),
        theirs,
        ctypes.c_ulong(1),
        ctypes.c_ulong(0),
    )


def _more_time(_: Target) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard + 1_000))


ACTS: dict[str, Callable[[Target], object]] = {
    "read the grader's files": lambda target: Path(target.secret).read_bytes(),
    "list the home folder": lambda target: list(Path(target.home).iterdir()),
    "write outside its folder": _write,
    "connect by TCP": lambda t: _connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", t.tcp)),
    "send by UDP": lambda t: _connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", t.udp)),
    "connect to a socket of this machine": lambda t: _connect(
        socket.AF_UNIX, socket.SOCK_STREAM, "\0" + t.unix
    ),
    "fork": _fork,
    "run a program": _run,
    "run a program from memory": _run_from_memory,
    "open a GPU that was not chosen": _open_card,
    "signal the judge": lambda target: os.kill(target.parent, signal.SIGCONT),
    "trace the judge": lambda target: _call("ptrace", PTRACE_SEIZE, target.parent, None, None),
    "read the judge's memory": _read_memory,
    "open the judge's memory": lambda target: Path(f"/proc/{target.parent}/mem").open("rb").close(),
    "read the judge's command line": lambda target: Path(f"/proc/{target.parent}/cmdline").read_bytes(),
    "read the judge's environment": lambda target: Path(f"/proc/{target.parent}/environ").read_bytes(),
    "outlive the judge": lambda _: _call("prctl", 1, 0, 0, 0, 0),  # PR_SET_PDEATHSIG
    "have more CPU time": _more_time,
}
