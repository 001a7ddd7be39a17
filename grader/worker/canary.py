"""The canary: confines itself as a worker does, then really tries what no submission may do. Standard library only.

It says on standard output, as JSON, which of these acts came off. A level holds where none does. Nothing is
harmed if one does: the signal is SIGCONT, the ptrace ends with the canary, the file is removed again.

For CUDA it also says whether the card can be used once confined: it starts the driver and multiplies two matrices.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import confinement
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
    """

    secret: str
    home: str
    outside: str
    tcp: int
    udp: int
    unix: str
    parent: int
    address: int


def main(settings: dict[str, Any]) -> None:
    """Confine this process, try every act, and say which came off.

    Args:
        settings: `level`, `device`, `paths` (as in `startup.Settings`) and `target`, the fields of `Target`.
    """
    device = settings["device"]
    leave_judge(set(), device, settings["paths"])
    if device == "cuda":
        importlib.import_module("torch")  # as a worker: before it is confined
    memory, cpu_s, file_size = (None, 60, OUTPUT_LIMIT) if device == "cuda" else (2**32, 10, 2**20)
    try:
        confinement.apply(
            settings["level"], scratch="", cpu_s=cpu_s, file_size=file_size, memory=memory, device=device
        )
    except OSError as error:
        print(json.dumps({"refused": str(error)}))
        return
    target = Target(**settings["target"])
    done = [name for name, act in ACTS.items() if _comes_off(act, target)]
    try:
        if device == "cuda":
            _use_card()
    except (RuntimeError, AssertionError, OSError) as error:  # AssertionError: a torch without CUDA
        print(json.dumps({"refused": f"CUDA cannot be used in a confined process: {error}"}))
        return
    print(json.dumps({"done": done}))


def _use_card() -> None:
    """Start the driver, and multiply two matrices. Raises if either fails."""
    torch = importlib.import_module("torch")
    ones = torch.ones(64, 64, device="cuda")
    if float((ones @ ones).sum()) != 64.0**3:
        raise RuntimeError("a product of two matrices is wrong")


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
    os.waitpid(pid, 0)


def _run(_: Target) -> None:
    pid = os.posix_spawn(sys.executable, [sys.executable, "-I", "-S", "-c", ""], {})
    os.waitpid(pid, 0)


def _connect(family: socket.AddressFamily, kind: socket.SocketKind, address: Any) -> None:
    with socket.socket(family, kind) as own:
        own.settimeout(WAIT_S)
        own.connect(address)
        own.send(b"x")


def _call(name: str, *arguments: Any) -> None:
    """A function of the C library. Raises OSError if it fails."""
    libc: Any = ctypes.CDLL(None, use_errno=True)
    function = getattr(libc, name)
    function.restype = ctypes.c_int  # -1 is all that matters
    if function(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


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
    "signal the judge": lambda target: os.kill(target.parent, signal.SIGCONT),
    "trace the judge": lambda target: _call("ptrace", PTRACE_SEIZE, target.parent, None, None),
    "read the judge's memory": _read_memory,
    "open the judge's memory": lambda target: Path(f"/proc/{target.parent}/mem").open("rb").close(),
    "read the judge's environment": lambda target: Path(f"/proc/{target.parent}/environ").read_bytes(),
    "outlive the judge": lambda _: _call("prctl", 1, 0, 0, 0, 0),  # PR_SET_PDEATHSIG
    "have more CPU time": _more_time,
}
