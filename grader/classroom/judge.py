"""A judge: a process that imports torch once and grades one file after the other.

It reads jobs from standard input and writes answers to its standard output, one JSON object per line.
`grader.classroom.pool` starts it and replaces it when it ends or does not answer.
"""

from __future__ import annotations

import base64
import ctypes
import dataclasses
import json
import os
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.core.results import Grade
    from grader.sandbox.sandbox import Sandbox

_PR_SET_PDEATHSIG = 1
_STOPPED = ("not run: the time for all tests", "not run: your code had to be restarted too often")


def main() -> None:
    """Grade what comes on standard input until it ends."""
    settings = json.loads(sys.argv[1])
    _end_with(settings["parent"])
    # The protocol gets descriptors of its own: nothing that a test prints can get between its lines.
    jobs, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before torch is imported
    from grader.sandbox.sandbox import Sandbox

    def answer(message: dict[str, Any]) -> None:
        answers.write(json.dumps(message).encode() + b"\n")
        answers.flush()

    with Sandbox(settings["sandbox"]) as sandbox:
        if settings["device"] == "cpu":
            sandbox.start()  # it imports torch beside this process
        import grader.run.session  # noqa: F401 - torch and pytest, before the first job

        answer({"ready": True, "memory": _memory()})
        for line in jobs:
            answer(_graded(json.loads(line), sandbox))


def _graded(job: dict[str, Any], sandbox: Sandbox) -> dict[str, Any]:
    from grader.catalog import get_exercise
    from grader.run.run import Request, grade_file

    exercise = get_exercise(job["exercise"])
    before, started = _cpu_seconds(), time.monotonic()
    request = Request(
        exercise=exercise,
        file=exercise.file,  # the same for everybody: equal files get equal reports
        source=base64.b64decode(job["source"]),
        device=job["device"],
        seed=job["seed"],
        categories=frozenset(job["categories"]),
        strict=job["strict"],
        sandbox=sandbox,
    )
    try:
        grade = grade_file(request, lambda _what, _done, _total: None)
        state, reason = state_of(grade)
        report = dataclasses.asdict(grade.lean())
    except Exception as error:  # noqa: BLE001 - a fault of the grader's, which the answer says
        where = traceback.extract_tb(error.__traceback__)[-1]
        state, report = "broken", None
        reason = f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"
    return {
        "id": job["id"],
        "state": state,
        "reason": reason,
        "report": report,
        "duration_s": round(time.monotonic() - started, 3),
        "cpu_s": round(_cpu_seconds() - before, 3),
        "memory": _memory(),
    }


def state_of(grade: Grade) -> tuple[str, str]:
    """The state in which a grade leaves a file, and the reason: graded, unloadable, refused, stopped or broken."""
    for result in grade.results:
        if result.status == "error":
            return "broken", result.message
    for result in grade.results:
        if result.status == "failed" and result.name in ("load", "rules"):
            return ("unloadable" if result.name == "load" else "refused"), result.message
    for result in grade.results:
        if result.status == "skipped" and result.message.startswith(_STOPPED):
            return "stopped", result.message
    return "graded", ""


def _end_with(parent: int) -> None:
    """Have the kernel end this process when the one that started it ends, however that comes about."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its judges
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)


def _memory() -> float:
    """Resident memory of this process in MB."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _cpu_seconds() -> float:
    """CPU time of this process, its fork server, and the workers that have ended."""
    ticks = 0
    for children in Path("/proc/self/task").glob("*/children"):
        try:
            for child in children.read_text().split():
                fields = Path("/proc", child, "stat").read_text().rpartition(")")[2].split()
                ticks += sum(int(one) for one in fields[11:15])  # utime, stime, and those of its children
        except (OSError, ValueError):
            continue
    own = resource.getrusage(resource.RUSAGE_SELF)
    return own.ru_utime + own.ru_stime + ticks / os.sysconf("SC_CLK_TCK")
