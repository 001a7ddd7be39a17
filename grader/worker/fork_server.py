"""The fork server: one process that has imported torch, and makes a confined worker of itself for each submission.

It is executed on its own, never forked from the judge, and knows nothing: no source, no tests, no data pass
through it. It hands out process ids, and reaps a worker only when the judge has no more use for the id.
Linux only; its one thread is asserted before each fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import confinement, scratch, startup

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
MAX_MESSAGE = 64 * 2**10
LOOK_S = 0.25  # how often the workers' folders are looked at
DESCRIPTORS = 3  # that come with a request: the two pipes, and a file for what is printed
FULL = "files"  # why a worker was ended


@dataclass
class _Child:
    """A worker: its process, its folder, and why it was ended if it was not the judge who asked."""

    pid: int
    folder: str
    file_size: int
    reason: str = ""


def main(settings: dict[str, Any]) -> None:
    """Serve until the judge's end of the socket is closed; then end all workers, and remove their folders.

    Args:
        settings: `socket` (a descriptor) and `paths`, as in `startup.Settings`.
    """
    startup.leave_judge({settings["socket"]}, "cpu", settings["paths"])
    libc: Any = ctypes.CDLL(None)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # not to be traced or read by others of the same user
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what a submission leaves behind becomes ours, to end
    with socket.socket(fileno=settings["socket"]) as judge:
        gc.disable()
        importlib.import_module(".serve", __package__)  # imports torch
        gc.freeze()
        Server(judge).run()
    os._exit(0)  # without the third of a second in which torch clears up


class Server:
    """Forks workers on request. Args: judge: the socket (of whole messages) over which requests come."""

    def __init__(self, judge: socket.socket) -> None:
        self._judge = judge
        self._children: dict[int, _Child] = {}

    def run(self) -> None:
        """Answer requests, one at a time, until the judge is gone."""
        poll = select.poll()
        poll.register(self._judge, select.POLLIN)
        try:
            while True:
                if not poll.poll(LOOK_S * 1000 if self._children else None):
                    self._look()
                    continue
                message, descriptors, _, _ = socket.recv_fds(self._judge, MAX_MESSAGE, DESCRIPTORS)
                if not message:
                    return
                self._judge.send(json.dumps(self._answer(json.loads(message), descriptors)).encode())
        except ConnectionError:
            return
        finally:
            for child in self._children.values():
                self._end(child)

    def _answer(self, request: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        number = request["id"]
        try:
            if "settings" in request:
                self._children[number] = self._start(request["settings"], descriptors)
                return {"id": number, "pid": self._children[number].pid}
            child = self._children.pop(number)
            return {"id": number, "status": self._end(child), "reason": child.reason}
        except OSError as error:
            return {"id": number, "error": str(error)}
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _start(self, settings: dict[str, Any], descriptors: list[int]) -> _Child:
        """Fork a worker. Raises OSError."""
        read, write, output = descriptors
        server = os.getpid()
        own = startup.Settings(**settings, read=read, write=write, parent=server)
        if own.level == "strict":
            confinement.look_ahead()
        threads = len(list(Path("/proc/self/task").iterdir()))
        if threads != 1:  # a fork copies one thread, and the locks that the others hold
            raise OSError(f"{threads} threads run in the process that makes workers")
        Path(own.scratch).mkdir(mode=0o700)
        try:
            pid = os.fork()
        except OSError:
            scratch.remove(own.scratch)
            raise
        if pid == 0:
            _become_worker(own, output)
        return _Child(pid, own.scratch, own.output)

    def _look(self) -> None:
        """End workers that fill their folders."""
        for child in self._children.values():
            if child.reason:
                continue
            hidden = scratch.hides_files(child.pid, child.folder, child.file_size)
            if hidden or scratch.is_full(child.folder):
                child.reason = FULL
                _kill(child.pid)

    def _end(self, child: _Child) -> int:
        """End a worker and all that it left; its exit code, negative for a signal."""
        _kill(child.pid)
        _, status = os.waitpid(child.pid, 0)
        self._end_strays()
        scratch.remove(child.folder)
        return os.waitstatus_to_exitcode(status)

    def _end_strays(self) -> None:
        """End what submissions left behind in other process groups: orphans are handed to this process."""
        ours = {child.pid for child in self._children.values()}
        listed = Path(f"/proc/self/task/{os.getpid()}/children")
        while listed.exists():  # some kernels are built without it
            children = listed.read_text().split()
            strays = {int(pid) for pid in children} - ours
            if not strays:
                return
            for pid in strays:
                with contextlib.suppress(ProcessLookupError, ChildProcessError):
                    os.kill(pid, signal.SIGKILL)
                    os.waitpid(pid, 0)


def _kill(pid: int) -> None:
    """End a worker and its process group. Not reaped yet, so the id is still its own."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)  # it may have been stopped before it made its group
        os.killpg(pid, signal.SIGKILL)


def _become_worker(settings: startup.Settings, output: int) -> None:
    """Return what the child does. Never returns."""
    try:
        # its own maps may be looked at by the server: it ends who fills the disk with files that have no name
        libc: Any = ctypes.CDLL(None)
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
        os.setsid()
        os.chdir(settings.scratch)
        for standard in (1, 2):
            os.dup2(output, standard)
        startup.prepare(settings)
        gc.enable()
        startup.confine(settings)
        serve = sys.modules[f"{__package__}.serve"]
        serve.serve(settings.read, settings.write, settings.device)
    except BaseException:  # noqa: BLE001 - also what nobody thought of must not return into the server
        with contextlib.suppress(BaseException):
            traceback.print_exc()
            sys.stderr.flush()
    finally:
        os._exit(1)
