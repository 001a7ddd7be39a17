"""Grades mutants side by side, in processes that are replaced when they end or do not answer."""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import torch

from grader.mutants.mutants import Mutant
from tests.mutation.measure import CUT_SHORT, Row, identity, measure

CHUNK = 39  # mutants that one process grades, all of three exercises in `test_sample`: one uses what others computed
STUCK_S = 600  # without an answer: it is not in Python that it loops
MEMORY = 6 * 2**30


@dataclass(frozen=True)
class Job:
    """One mutant to be graded."""

    exercise: str
    base: tuple[str, str]
    mutant: Mutant


def measured(jobs: Sequence[Job], seed: int, *, name: bool, cold: bool, processes: int) -> Iterator[Row]:
    """Grade mutants.

    Args:
        processes: how many; 0 grades in this one.
    """
    if not processes:
        for job in jobs:
            yield measure(job.exercise, job.base, job.mutant, seed, name=name, cold=cold)
        return
    left = [list(jobs[i : i + CHUNK]) for i in range(0, len(jobs), CHUNK)]
    left.reverse()
    running: dict[Connection, _Running] = {}
    try:
        while left or running:
            while left and len(running) < processes:
                one = _begun(left.pop(), seed, name, cold)
                running[one.answers] = one
            for ready in wait(list(running), timeout=5) or list(running):
                assert isinstance(ready, Connection)
                one = running[ready]
                row = one.answer()
                if row is None and not one.stuck():
                    continue
                yield row or lost(one.jobs[0])
                one.jobs, one.since = one.jobs[1:], time.monotonic()
                if row is None or not one.jobs or row.why in CUT_SHORT:
                    one.end()
                    del running[ready]
                    left += [one.jobs] if one.jobs else []
    finally:
        for one in running.values():
            one.end()


@dataclass
class _Running:
    """A process, what it has still to grade, and since when it has been at the first."""

    process: BaseProcess
    answers: Connection
    jobs: list[Job]
    since: float
    ended: bool = False

    def answer(self) -> Row | None:
        """The next row, if it is there."""
        if not self.answers.poll():
            return None
        try:
            row: Row = self.answers.recv()
        except EOFError:
            self.ended = True
            return None
        return row

    def stuck(self) -> bool:
        return self.ended or time.monotonic() - self.since > STUCK_S

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.answers.close()


def _begun(jobs: list[Job], seed: int, name: bool, cold: bool) -> _Running:
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_grade_some, args=(theirs, jobs, seed, name, cold), daemon=True)
    process.start()
    theirs.close()
    return _Running(process, ours, jobs, time.monotonic())


def lost(job: Job) -> Row:
    """What is known of a mutant that ended its process."""
    mutant, title = job.mutant, job.base[0]
    return Row(
        job.exercise, title, mutant.operator, mutant.line, mutant.end_line, identity(mutant.text), True,
        place="none", why="lost",
    )  # fmt: skip


def _grade_some(answers: Connection, jobs: Sequence[Job], seed: int, name: bool, cold: bool) -> None:
    """Run in a process of its own, as long as the one that asked is there."""
    asked_by = os.getppid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    torch.set_num_threads(1)
    for job in jobs:
        if os.getppid() != asked_by:
            return
        answers.send(measure(job.exercise, job.base, job.mutant, seed, name=name, cold=cold))
