"""The bench on which acts are tried: what there is to attack, and what is looked at afterwards."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os
import secrets
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grader.core.submission import SubmissionError
from grader.sandbox.process import Limits
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Sandbox
from tests import ROOT, solution_file
from tests.grader.hostile.hostile import Hostile

NAIVE = Path(__file__).with_name("naive.py")
HONEST = b"def act(t): return 6 * 7"
TIME_S = 0.5  # that an act has
OPEN = 7  # a descriptor of the victim's

# In place of the judge, whose own process must survive: a process of the same user, with secrets.
VICTIM = """
import ctypes, os, sys, time
file = open(sys.argv[1]); os.dup2(file.fileno(), int(sys.argv[2]))
buffer = ctypes.create_string_buffer(os.environ["SECRET"].encode())
print(ctypes.addressof(buffer), flush=True)
time.sleep(600)
"""


@dataclasses.dataclass(frozen=True)
class Tried:
    """How an act ended. said: all that came back from it, as text."""

    came_off: bool
    said: str


class Bench:
    """A home folder, a victim and open sockets, with a secret in each. Use it as a context manager.

    Args:
        folder: an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self.secret = f"SECRET-{secrets.token_hex(8)}"
        self.folder, self.home, self.temporary = folder, folder / "home", folder / "tmp"
        self.progress, self.outside = self.home / "progress.txt", self.home / "outside"
        self._stack = contextlib.ExitStack()
        self.sandboxes: dict[str, Sandbox] = {}

    def __enter__(self) -> Bench:
        for one in (self.home, self.temporary):
            one.mkdir()
        (self.home / "key").write_text(self.secret)
        other = self.temporary / "zoo-other"
        other.mkdir()
        (other / "work.py").write_text(self.secret)
        # A socket's path may have 107 bytes, which that of a folder for tests may have already.
        short = self._stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp"))
        self._unix = str(Path(short, "socket"))
        self._sockets = {
            "tcp": self._socket(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "udp": self._socket(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "unix": self._socket(socket.AF_UNIX, socket.SOCK_STREAM, self._unix),
            "abstract": self._socket(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.secret[::-1]}"),
        }
        return self

    def __exit__(self, *_: object) -> None:
        for sandbox in self.sandboxes.values():
            sandbox.close()
        self._stack.close()

    def sandbox(self, level: str) -> Sandbox:
        """One for all acts at this level."""
        if level not in self.sandboxes:
            self.sandboxes[level] = Sandbox("strict" if level == "strict" else "process")
        return self.sandboxes[level]

    def attempt(self, one: Hostile, level: str) -> Tried:
        """Try an act at a level, or with nothing to hold it ("none")."""
        self.outside.unlink(missing_ok=True)
        self.progress.write_text("masks: new\n")
        self.progress.chmod(0o644)
        before = self._state_of_progress()
        with self._victim() as (victim, address):
            target = self._target(victim, address)
            tried = (
                self._unheld(one, target) if level == "none" else self._held(one, self.sandbox(level), target)
            )
            seen = {
                "file": self.outside.exists(),
                "changed": self._state_of_progress() != before,
                "dead": one.proof == "dead" and _ended(victim),
                "knock": self._knocked(),
            }
        return tried if one.proof not in seen else dataclasses.replace(tried, came_off=seen[one.proof])

    def honest(self, level: str) -> bool:
        """Whether an honest submission is still served."""
        with self.sandbox(level).worker("cpu") as worker:
            return bool(RemoteSubmission(worker, HONEST, "honest.py").function("act").call([{}]).value == 42)

    def left(self, level: str) -> list[str]:
        """What is left behind: folders of workers, and processes of the fork server."""
        folders = [one.name for one in self.temporary.iterdir() if one.name != "zoo-other"]
        server = self.sandbox(level)._server.pid
        children = Path(f"/proc/{server}/task/{server}/children")
        return [*folders, *(children.read_text().split() if children.exists() else [])]

    def _held(self, one: Hostile, sandbox: Sandbox, target: dict[str, Any]) -> Tried:
        limits = Limits(request_s=20.0, cpu_s=2) if one.slow else Limits(request_s=TIME_S)
        if one.proof != "end" and not one.slow:
            limits = Limits(request_s=20.0)
        value: Any = None
        with sandbox.worker("cpu", limits) as worker:
            try:
                submission = RemoteSubmission(worker, one.source.encode(), "hostile.py")
                value = submission.function("act").call([target]).value
                said = repr(value)
            except SubmissionError as error:
                said = f"{error} {error.source_line}"
        said += worker.output().decode("latin-1")
        if one.proof == "end":
            return Tried(False, said)  # here it is not at work any more
        return Tried(self._proved(one, value), said)

    def _unheld(self, one: Hostile, target: dict[str, Any]) -> Tried:
        """In a process of its own all the same: the one who tests wants to live."""
        folder = self.folder / "unheld"
        folder.mkdir()
        process = subprocess.Popen(
            [sys.executable, str(NAIVE), json.dumps({**target, "none": True}), self.secret],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "SECRET": self.secret},
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(one.source.encode())
            process.stdin.close()
            assert process.stdout.readline() == b"ready\n"
            if one.proof == "end":
                time.sleep(TIME_S)
                return Tried(process.poll() is None, "")
            answer = process.stdout.readline()
            value = json.loads(answer) if answer else None
            return Tried(self._proved(one, value), repr(value))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()
            process.stdout.close()
            _remove(folder)

    def _proved(self, one: Hostile, value: Any) -> bool:
        if one.proof == "left":
            return _is_left(value)
        return value is True or (isinstance(value, str) and self.secret in value)

    def _target(self, victim: int, address: int) -> dict[str, Any]:
        found = importlib.util.find_spec("torch")
        assert found is not None
        assert found.origin is not None
        return {
            "none": False,
            "secret": str(self.home / "key"),
            "home": str(self.home),
            "progress": str(self.progress),
            "outside": str(self.outside),
            "other": str(self.temporary / "zoo-other" / "work.py"),
            "temporary": str(self.temporary),
            "project": str(ROOT),
            "solution": str(solution_file("masks")),
            "suite": str(ROOT / "grader" / "exercises" / "masks" / "suite" / "scenarios.py"),
            "packages": str(Path(found.origin).resolve().parents[1]),
            "victim": victim,
            "judge": victim,
            "address": address,
            "open": OPEN,
            "tcp": self._sockets["tcp"].getsockname()[1],
            "udp": self._sockets["udp"].getsockname()[1],
            "unix": self._unix,
            "abstract": self.secret[::-1],
        }

    @contextlib.contextmanager
    def _victim(self) -> Iterator[tuple[int, int]]:
        words = [sys.executable, "-I", "-S", "-c", VICTIM, str(self.home / "key"), str(OPEN), self.secret]
        with subprocess.Popen(words, stdout=subprocess.PIPE, env={"SECRET": self.secret}) as process:
            assert process.stdout is not None
            try:
                yield process.pid, int(process.stdout.readline())
            finally:
                process.kill()

    def _socket(self, family: socket.AddressFamily, kind: socket.SocketKind, address: Any) -> socket.socket:
        one = self._stack.enter_context(socket.socket(family, kind))
        one.bind(address)
        if kind == socket.SOCK_STREAM:
            one.listen()
        return one

    def _knocked(self) -> bool:
        ready, _, _ = select.select(list(self._sockets.values()), [], [], 0)
        for one in ready:
            if one.type == socket.SOCK_STREAM:
                one.accept()[0].close()
            else:
                one.recv(10)
        return bool(ready)

    def _state_of_progress(self) -> tuple[object, ...]:
        if not self.progress.exists():
            return ()
        status = self.progress.stat()
        return self.progress.read_bytes(), status.st_mode, status.st_mtime_ns


def _ended(pid: int) -> bool:
    """Whether the victim is gone; its end is waited for, two seconds, and not collected."""
    for _ in range(200):
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if status == "Z":
            return True
        time.sleep(0.01)
    return False


def _is_left(value: Any) -> bool:
    """Whether the process of this id, or the file of this name, is there; it is ended or removed then."""
    if isinstance(value, str):
        there = Path(value).exists()
        _remove(Path(value))
        return there
    try:
        os.kill(value, 9)
    except (ProcessLookupError, TypeError):  # TypeError: it names none
        return False
    return True


def _remove(folder: Path) -> None:
    """However deep it is, and without the permissions to."""
    if folder.exists():
        folder.chmod(0o700)
        subprocess.run(["rm", "-rf", "--", str(folder)], check=True)
