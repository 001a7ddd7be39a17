"""The engine `ray`: grades on a Ray cluster, or on a Ray of its own on this machine. Imports no Ray.

Ray runs in a process of its own (`grader.classroom.ray_driver`), which this one feeds with lines of JSON. So what Ray
does to the process that uses it (signal handlers, threads, an end without a word when its node dies) does not
touch the one that writes the gradebook, and a Ray that was started for a run is ended with it even after kill -9.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from grader.classroom.engines import Terms, cluster_level, cores
from grader.classroom.pool import Job, Outcome
from grader.classroom.slot import slot_settings
from grader.core.results import GraderBrokenError
from grader.sandbox.launch import nameless_file
from zoo.core.errors import ZooError

END_S = 20.0  # for Ray to end
_AHEAD = 2  # jobs handed over per slot
_LONGEST = 40  # characters of a folder in which Ray's sockets still have names short enough
_MAIN = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])['paths']; "
    "from grader.classroom.ray_driver import main; main()"
)


class RayEngine:
    """Grades on Ray.

    Raises:
        ZooError: what is asked for is not safe on a cluster.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms, self._level = terms, cluster_level(terms)
        if "://" in terms.address:
            raise ZooError(
                f"--address {terms.address} is not supported; expected HOST:PORT of a cluster that this machine is "
                "part of, or auto. Run the command on a machine of the cluster."
            )
        self._stack = contextlib.ExitStack()

    @property
    def level(self) -> str:
        return self._level

    def __enter__(self) -> RayEngine:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Grade all jobs, the longest first."""
        if not jobs:
            return
        by_id = {job.id: job for job in jobs}
        waiting = deque(sorted(jobs, key=lambda job: -job.cost))
        process = self._start(len(jobs), {job.exercise for job in jobs})
        assert process.stdin is not None
        assert process.stdout is not None
        ahead = 0
        while by_id:
            line = process.stdout.readline()
            answer: dict[str, Any] = json.loads(line) if line else {"broken": self._last_words(process)}
            if "refused" in answer:
                raise ZooError(answer["refused"])
            if "broken" in answer:
                raise GraderBrokenError(answer["broken"])
            if "slots" in answer:
                ahead += _AHEAD * answer["slots"]
            else:
                ahead += 1
            with contextlib.suppress(OSError):  # it has ended, which shows when it is read
                while ahead and waiting:
                    process.stdin.write(waiting.popleft().message())
                    ahead -= 1
                process.stdin.flush()
            if "id" in answer:
                yield Outcome.read(by_id.pop(answer["id"]), answer)

    def _start(self, number: int, exercises: set[str]) -> subprocess.Popen[bytes]:
        terms = self._terms
        own = not terms.address
        slots = terms.jobs or (max(1, int(cores() / terms.cpus)) if own else 0)  # 0: as the cluster has room
        settings: dict[str, Any] = {
            "paths": [path for path in sys.path if path],
            "number": number,
            "slots": slots,
            "address": terms.address,
            "cpus": terms.cpus,
            "gpus": terms.gpus,
            "memory": int(terms.memory * 2**30),
            "num_cpus": math.ceil(min(slots, number) * terms.cpus),
            "grade_s": terms.limits.grade_s,
            "tries": terms.limits.tries,
            "folder": self._private_folder() if own else "",
            "slot": slot_settings(self._level, terms.device, terms.limits, exercises),
        }
        self._said = self._stack.enter_context(nameless_file())
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _MAIN, json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            cwd="/",  # Ray's processes look for modules in its current directory, which may be the students'
            env=_environment(settings),
            start_new_session=True,  # Ctrl-C reaches this process alone
        )
        self._stack.callback(_end, process)
        return process

    def _private_folder(self) -> str:
        """A folder for Ray's sockets and logs, and the token, that no other user can look into."""
        usual = tempfile.gettempdir()
        folder = tempfile.mkdtemp(prefix="zoo-ray-", dir=usual if len(usual) < _LONGEST else "/tmp")
        self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder, "token")
        path.touch(mode=0o600)
        path.write_text(secrets.token_hex(32))
        return folder

    def _last_words(self, process: subprocess.Popen[bytes]) -> str:
        code = process.wait()
        lines = os.pread(self._said.fileno(), 2**20, 0).decode(errors="replace").strip().splitlines()
        ended = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        words = lines[-1][-300:] if lines else ""
        return f"Ray {ended}. Finished grades are in the gradebook; run the same command to continue. {words}".strip()


def _environment(settings: dict[str, Any]) -> dict[str, str]:
    """For the process with Ray in it. Token authentication always; a Ray of its own listens on loopback only."""
    own = bool(settings["folder"])
    kept = {name: value for name, value in os.environ.items() if not (own and name.startswith("RAY_"))}
    changed = {
        "RAY_AUTH_MODE": "token",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "PYTHONPATH": os.pathsep.join(settings["paths"]),  # for the processes that Ray starts
    }
    if own:
        changed["RAY_AUTH_TOKEN_PATH"] = str(Path(settings["folder"], "token"))
        # Without it Ray replaces 127.0.0.1 by an address that others can reach, and listens on all of them.
        changed["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    return {**kept, **changed}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let it end Ray, which it does when its input ends."""
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.close()
    try:
        process.wait(timeout=END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
