"""The engine `submitit`: grades in jobs of SLURM, or of processes on this machine (`--engine-option cluster=local`).

Each job grades some files in a `grader.classroom.slot.Slot`. Jobs and outcomes are lines of JSON in files of a folder
that all nodes must see; what submitit pickles is the name of a function and two strings.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from grader.classroom.engines import Terms, cluster_level, cores
from grader.classroom.pool import MAX_STARTS, Job, Outcome
from grader.classroom.slot import Slot, slot_settings
from grader.core.results import GraderBrokenError
from zoo.core.errors import ZooError

TICK_S = 0.5
AT_ONCE = 32  # jobs of SLURM, unless --jobs says otherwise
FILES, FEW = 100, 10  # of one job: at most; and no fewer than this to fill it, as each imports torch anew
END_S = 10.0  # for jobs to end
START_MIN = 10  # minutes for a job beside its grades
_SETTINGS, _JOBS, _OUTCOMES = "settings.json", "jobs.jsonl", "outcomes.jsonl"


@dataclasses.dataclass
class _Chunk:
    handle: Any
    folder: Path
    left: dict[int, Job]
    read: int = 0
    begun: int | None = None


class SubmititEngine:
    """Grades with submitit.

    Raises:
        ZooError: what is asked for is not safe on a cluster, or submitit does not know it.
    """

    def __init__(self, terms: Terms) -> None:
        self._terms, self._level = terms, cluster_level(terms)
        if terms.gpus != int(terms.gpus):
            raise ZooError(
                f"--gpus-per-grade {terms.gpus:g} is not possible with SLURM; expected a whole number."
            )
        self._options = {name: _number(value) for name, value in terms.options.items()}
        self._cluster = self._options.pop("cluster", None)
        self._place = Path(str(self._options.pop("folder", "."))).absolute()
        if not self._place.is_dir():
            raise ZooError(f"--engine-option folder={self._place}: there is no such folder.")
        self._stack = contextlib.ExitStack()

    @property
    def level(self) -> str:
        return self._level

    def __enter__(self) -> SubmititEngine:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._stack.close()

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Grade all jobs, the longest first, in at most `--jobs` jobs of the cluster at once."""
        if not jobs:
            return
        self._open({job.exercise for job in jobs})
        waiting = deque(sorted(jobs, key=lambda job: -job.cost))
        chunks: list[_Chunk] = []
        self._stack.callback(_cancel, chunks)
        failed, number = 0, 0
        while waiting or any(chunk.left for chunk in chunks):
            while waiting and len(chunks) < self._at_once:
                even = math.ceil(len(waiting) / self._at_once)
                size = min(FILES, max(math.ceil(even / 2), min(FEW, even)))
                chunks.append(self._submit(number, [waiting.popleft() for _ in range(size)]))
                number += 1
            for chunk in list(chunks):
                ended = chunk.handle.done()  # asked first: what it has written by then is all
                before = len(chunk.left)
                yield from self._kept(_outcomes(chunk), waiting)
                failed = 0 if len(chunk.left) < before else failed
                if not chunk.left or ended:
                    chunks.remove(chunk)
                    if chunk.left:
                        failed += chunk.begun is None
                        if failed >= MAX_STARTS:
                            raise GraderBrokenError(
                                f"The jobs of the cluster do not start. {_last_words(chunk)}"
                            )
                        yield from self._kept(_lost(chunk, waiting), waiting)
            time.sleep(TICK_S)

    def _open(self, exercises: set[str]) -> None:
        import submitit

        settings = slot_settings(self._level, self._terms.device, self._terms.limits, exercises)
        self._folder = Path(tempfile.mkdtemp(prefix="zoo-submitit-", dir=self._place))
        self._stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
        (self._folder / _SETTINGS).write_text(settings, encoding="utf-8")
        try:
            self._executor = submitit.AutoExecutor(self._folder / "logs", cluster=self._cluster or "slurm")
        except (ValueError, RuntimeError) as error:
            raise ZooError(
                f"There is no {self._cluster or 'SLURM'} on this machine: {error}. `--engine-option cluster=local` "
                "uses processes of this machine."
            ) from error
        if self._executor.cluster not in ("local", "slurm"):  # "debug" grades in this very process
            raise ZooError(f"cluster={self._executor.cluster} is not possible; expected slurm or local.")
        self._at_once = self._terms.jobs or (cores() if self._executor.cluster == "local" else AT_ONCE)
        given: dict[str, Any] = {"name": "zoo-class", "cpus_per_task": math.ceil(self._terms.cpus)}
        given |= {"gpus_per_node": int(self._terms.gpus)} if self._terms.gpus else {}
        given |= {"mem_gb": self._terms.memory} if self._terms.memory else {}
        try:
            self._executor.update_parameters(**given, **self._options)
        except (NameError, TypeError, AssertionError) as error:
            raise ZooError(f"submitit does not take these options: {error}") from error

    def _submit(self, number: int, jobs: Sequence[Job]) -> _Chunk:
        folder = self._folder / f"{number:06}"
        folder.mkdir()
        (folder / _JOBS).write_bytes(b"".join(job.message() for job in jobs))
        if "timeout_min" not in self._options:
            cost = 4 * sum(job.cost for job in jobs) + self._terms.limits.grade_s
            self._executor.update_parameters(timeout_min=START_MIN + math.ceil(cost / 60))
        here = Path.cwd()
        try:
            os.chdir(folder)  # a job looks for modules in its current directory, which may be the students'
            handle = self._executor.submit(grade_files, str(self._folder), str(folder))
        except Exception as error:
            raise ZooError(f"The cluster does not take the job. {error}") from error
        finally:
            os.chdir(here)
        return _Chunk(handle, folder, {job.id: job for job in jobs})

    def _kept(self, outcomes: Iterator[Outcome], waiting: deque[Job]) -> Iterator[Outcome]:
        """Outcomes to hand on; the file of one that was lost is graded again, unless it has been too often."""
        for outcome in outcomes:
            if outcome.lost and outcome.job.tries < self._terms.limits.tries:
                waiting.append(dataclasses.replace(outcome.job, tries=outcome.job.tries + 1))
            else:
                yield outcome


def _outcomes(chunk: _Chunk) -> Iterator[Outcome]:
    """Yield the outcomes that a job has written since the last call. Raises ZooError if its node must not grade."""
    try:
        with (chunk.folder / _OUTCOMES).open("rb") as file:
            file.seek(chunk.read)
            lines = file.read().splitlines(keepends=True)
    except FileNotFoundError:
        return
    for line in lines:
        if not line.endswith(b"\n"):
            return
        chunk.read += len(line)
        found = json.loads(line)
        if found.get("refusal"):
            raise ZooError(f"Node {found['node']} must not grade. {found['refusal']}")
        if "begun" in found:
            chunk.begun = found["begun"]
        elif "id" in found:
            yield Outcome.read(chunk.left.pop(found["id"]), found)


def _lost(chunk: _Chunk, waiting: deque[Job]) -> Iterator[Outcome]:
    """A job has ended too early: the file that it was at counts as lost, the others wait again."""
    for job in chunk.left.values():
        if job.id == chunk.begun:
            reason = f"The cluster's job was lost while it graded this file. {_last_words(chunk)}"
            yield Outcome(job, "broken", reason, tries=job.tries, lost=True)
        else:
            waiting.append(job)


def _last_words(chunk: _Chunk) -> str:
    lines = (chunk.handle.stderr() or "").strip().splitlines()
    return str(lines[-1])[-300:] if lines else ""


def _cancel(chunks: Sequence[_Chunk]) -> None:
    """Wait a little for jobs that have graded all, and cancel the others."""
    deadline = time.monotonic() + END_S
    for chunk in chunks:
        with contextlib.suppress(Exception):
            if chunk.left:
                chunk.handle.cancel()
            while not chunk.handle.done() and time.monotonic() < deadline:
                time.sleep(TICK_S / 10)
            if not chunk.handle.done():
                chunk.handle.cancel()


def _number(value: str) -> str | int | float:
    """A number where the text is one: submitit checks types."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(value)
    return value


def grade_files(folder: str, own: str) -> int:
    """Grade the files of one job of the cluster, in its main thread; how many.

    Args:
        folder: with the settings of all slots.
        own: with this job's files, and for its outcomes.
    """
    slot = Slot(Path(folder, _SETTINGS).read_text(encoding="utf-8"))
    done = 0
    with Path(own, _OUTCOMES).open("a", encoding="utf-8") as file, contextlib.closing(slot):

        def write(line: str) -> None:
            file.write(line.strip() + "\n")
            file.flush()
            os.fsync(file.fileno())

        looked = slot.check()
        write(looked)
        if json.loads(looked)["refusal"]:
            return 0
        for job in Path(own, _JOBS).read_text(encoding="utf-8").splitlines():
            write(json.dumps({"begun": json.loads(job)["id"]}))
            write(slot.grade(job))
            done += 1
    return done
