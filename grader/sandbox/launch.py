"""Starts one process for a submission, directly, and ends it with all that it started. Imports no torch.

On Linux and without CUDA, processes come from the fork server (`grader.sandbox.fork_server`) instead.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, Protocol

from grader.core.results import GraderBrokenError
from grader.worker import scratch
from grader.worker.startup import PACKAGES, environment_keeps

MAIN = Path(__file__).resolve().parent.parent / "worker" / "main.py"


class Launched(Protocol):
    """A process for a submission.

    Attributes:
        returncode: as of `subprocess.Popen`; None until `end`, and where nobody knows.
        reason: why it was ended by someone else than the judge, or "".
    """

    returncode: int | None
    reason: str

    @property
    def pid(self) -> int: ...

    def wait_started(self, deadline: float) -> None:
        """Wait until there is a process. Raises GraderBrokenError if there will be none."""

    def end(self) -> None:
        """End its process group, and remove its folder."""


class Spawned:
    """A process of its own, which imports torch itself.

    Args:
        settings: of `grader.worker.startup.Settings`, but for `parent`.
        output: where it prints.

    Raises:
        GraderBrokenError: it cannot be started.
    """

    returncode: int | None = None
    reason = ""

    def __init__(self, settings: dict[str, Any], output: IO[bytes]) -> None:
        self._folder = settings["scratch"]
        try:
            Path(self._folder).mkdir(mode=0o700)
        except OSError as error:
            raise GraderBrokenError(f"The process for the submission could not start: {error}.") from error
        try:
            self._process = start(
                "worker",
                {**settings, "parent": os.getpid()},
                keep=(settings["read"], settings["write"]),
                output=output,
                folder=self._folder,
                device=settings["device"],
            )
        except GraderBrokenError:
            scratch.remove(self._folder)
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_started(self, deadline: float) -> None:
        """Return at once: it has started."""

    def end(self) -> None:
        """Not reaped before, so the id is still its own."""
        with contextlib.suppress(
            ProcessLookupError, PermissionError
        ):  # macOS: EPERM if only a zombie is left
            os.killpg(self._process.pid, signal.SIGKILL)
        self.returncode = self._process.wait()
        scratch.remove(self._folder)


def start(
    role: str,
    settings: dict[str, Any],
    *,
    keep: tuple[int, ...] = (),
    output: IO[bytes] | int,
    errors: IO[bytes] | int | None = None,
    folder: str = "/",
    device: str = "cpu",
) -> subprocess.Popen[bytes]:
    """Start a process of `grader/worker/main.py`, in a session of its own, with nothing of the judge's.

    Args:
        role, settings: see there.
        keep: descriptors that it gets.
        output, errors: where it prints; errors to the same place if not given.
        folder: its working directory.
        device: "cuda" leaves it the variables of CUDA.

    Raises:
        GraderBrokenError: it cannot be started.
    """
    kept = {name: value for name, value in os.environ.items() if environment_keeps(name, device)}
    if device == "cuda":  # compiled kernels stay in memory: their folders are the user's
        kept |= {"CUDA_CACHE_DISABLE": "1", "USE_PYTORCH_KERNEL_CACHE": "0"}
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(MAIN), role, json.dumps(settings)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output if errors is None else errors,
            pass_fds=keep,
            env={**kept, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            cwd=folder,
            start_new_session=True,
        )
    except OSError as error:
        raise GraderBrokenError(f"The process for the submission could not start: {error}.") from error


def nameless_file() -> IO[bytes]:
    """A file for what a process prints. It has no name, and is gone when it is closed.

    Raises:
        GraderBrokenError: there is no place for one.
    """
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise GraderBrokenError(
            f"A temporary file, which a grade needs, cannot be created: {error}."
        ) from error


def temporary_folder() -> str:
    """Return where temporary files are made.

    Raises:
        GraderBrokenError: there is no place for any.
    """
    try:
        return tempfile.gettempdir()
    except OSError as error:
        raise GraderBrokenError(
            f"A temporary file, which a grade needs, cannot be created: {error}."
        ) from error


def package_paths() -> list[str]:
    """Return where torch and what it needs lie: -I and -S keep a worker off the folders of packages, and off what is
    run from them at every start of Python."""
    spec = importlib.util.find_spec("torch")
    torchs = [] if spec is None or spec.origin is None else [str(Path(spec.origin).resolve().parent.parent)]
    others = [one for one in sys.path if Path(one).name in PACKAGES]
    return list(dict.fromkeys([*torchs, *others]))
