"""Grade right code on many seeds: `python -m tests.grader.hundred [EXERCISE ...]`.

Correct code must pass whatever the seed and whatever the machine. Files are graded as `zoo grade` grades them, in a
worker process; `--local` runs them in the judge's process, which takes half the time. `--onednn off` takes other
kernels, and `--noise` makes the last digits of all intermediates wrong, as other processors do. Training tests take
most of the time, and are left out unless asked for.
Exits with 1 if a grade failed.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import platform
import resource
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before torch is imported

import torch

from grader.author.matrix import WITHOUT_TRAINING
from grader.catalog import CATEGORIES, get_exercise, get_exercises
from grader.core.results import GraderBrokenError, Result
from grader.engine.local import LocalSubmission
from grader.run.run import Request, grade_file
from grader.run.session import Session, no_progress
from grader.sandbox.sandbox import Sandbox
from tests.grader.noise import Noise
from tests.grader.noisy import Noisy
from tests.grader.right import right_files

WITHOUT_ONEDNN = (
    '\n\n__import__("torch").backends.mkldnn.enabled = False\n'  # run in the submission's process
)


@dataclass(frozen=True)
class Mode:
    """How to grade.

    Attributes:
        local: run submissions in this process.
        onednn: let torch use oneDNN.
        noise: how many units in the last place the submission's intermediates are off; only with `local`.
        training: run the training tests too.
    """

    local: bool = False
    onednn: bool = True
    noise: float = 0.0
    training: bool = False

    def __str__(self) -> str:
        parts = [
            "in one process" if self.local else "in workers",
            "" if self.onednn else "oneDNN off",
            f"noise of {self.noise:g} units in the last place" if self.noise else "",
            "with training" if self.training else "",
        ]
        return ", ".join(filter(None, parts))


@dataclass(frozen=True)
class Graded:
    """One file graded on one seed: what did not pass, and the CPU time of the judge and its workers."""

    title: str
    seed: int
    problems: tuple[str, ...]
    cpu_s: float


def problems(results: Iterable[Result]) -> tuple[str, ...]:
    """Return what did not pass, with its message."""
    return tuple(f"{one.name}: {one.status}: {one.message}" for one in results if one.status != "passed")


@contextlib.contextmanager
def _onednn(enabled: bool) -> Iterator[None]:
    """Let torch use oneDNN in this process, or not. `torch.backends.mkldnn.flags` warns of other settings."""
    before = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = enabled
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = before


class Grader:
    """Grades files; all its workers are forked from one server. Use it as a context manager."""

    def __init__(self, mode: Mode) -> None:
        self.mode = mode
        self._categories = frozenset(CATEGORIES if mode.training else WITHOUT_TRAINING)
        self._sandbox = Sandbox()

    def __enter__(self) -> Grader:
        return self

    def __exit__(self, *exc: object) -> None:
        self._sandbox.close()

    def grade(self, exercise: str, source: str, seed: int) -> list[Result]:
        """Grade one file."""
        with _onednn(self.mode.onednn):
            if self.mode.local:
                return self._locally(exercise, source, seed)
            return self._in_worker(exercise, source, seed)

    def _locally(self, exercise: str, source: str, seed: int) -> list[Result]:
        wanted = get_exercise(exercise)

        def load() -> LocalSubmission | Noisy:
            if not self.mode.noise:
                return LocalSubmission.from_source(source, filename=wanted.file)
            return Noisy.from_source(source, Noise(seed, self.mode.noise), filename=wanted.file)

        with Path(os.devnull).open("w") as nowhere, contextlib.ExitStack() as quiet:
            quiet.enter_context(contextlib.redirect_stdout(nowhere))
            quiet.enter_context(contextlib.redirect_stderr(nowhere))
            return Session(wanted, load, source=source, seed=seed).run(self._categories)

    def _in_worker(self, exercise: str, source: str, seed: int) -> list[Result]:
        wanted = get_exercise(exercise)
        text = source if self.mode.onednn else source + WITHOUT_ONEDNN
        request = Request(
            wanted,
            wanted.file,
            text.encode(),
            device="cpu",
            seed=seed,
            categories=self._categories,
            sandbox=self._sandbox,
        )
        return list(grade_file(request, no_progress).results)

    def grade_all(self, exercise: str, titles: Collection[str], seed: int) -> list[Graded]:
        """Grade files of one exercise on one seed: what is computed once per seed is computed once."""
        found = []
        for title, source in right_files(exercise).items():
            if title not in titles:
                continue
            before = cpu_seconds()
            try:
                wrong = problems(self.grade(exercise, source, seed))
            except GraderBrokenError as error:
                wrong = (str(error),)
            found.append(Graded(title, seed, wrong, cpu_seconds() - before))
        return found


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children, with those that they have waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    total = sum(one.ru_utime + one.ru_stime for one in used)
    children = Path(f"/proc/self/task/{os.getpid()}/children")  # not on macOS
    for child in children.read_text().split() if children.exists() else []:
        with contextlib.suppress(OSError):  # it has ended
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return total


_grader: Grader


def _begin(mode: Mode) -> None:
    """Make a process of the pool ready."""
    global _grader
    torch.set_num_threads(1)
    _grader = Grader(mode)  # its fork server ends with the process


def _grade_all(exercise: str, titles: Collection[str], seed: int) -> list[Graded]:
    return _grader.grade_all(exercise, titles, seed)


def grade_files(
    wanted: dict[str, list[str]], seeds: Sequence[int], mode: Mode, jobs: int
) -> Iterator[tuple[str, Iterator[list[Graded]]]]:
    """Grade titles by exercise, in several processes; yield each exercise with its grades by seed."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, spawn, _begin, (mode,)) as processes:
        asked = {
            name: processes.map(partial(_grade_all, name, titles), seeds) for name, titles in wanted.items()
        }
        yield from asked.items()


def processor() -> str:
    """Return the processor's name."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="exercises to grade (default: all)")
    parser.add_argument("--times", type=int, default=100, help="grades of each file (default: 100)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first grade (default: 0)")
    parser.add_argument(
        "--files",
        default="all",
        metavar="all|solution|unusual|TITLE",
        help="files to grade (default: all)",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes (default: one per core)")
    parser.add_argument("--local", action="store_true", help="run the files in the judge's process")
    parser.add_argument("--onednn", choices=("on", "off"), default="on", help="let torch use oneDNN")
    parser.add_argument(
        "--noise",
        type=float,
        default=0.0,
        metavar="ULPS",
        help="with --local: make each intermediate so many units in the last place wrong",
    )
    parser.add_argument("--training", action="store_true", help="run the training tests too")
    chosen = parser.parse_args(arguments)
    if chosen.noise and not chosen.local:
        parser.error("--noise needs --local")
    return chosen


def _titles(exercise: str, which: str) -> list[str]:
    titles = list(right_files(exercise))
    kinds = {"all": titles, "solution": titles[:1], "unusual": titles[1:]}
    return kinds.get(which, [title for title in titles if title == which])


def main(arguments: list[str] | None = None) -> int:
    """Grade, print each failure, a line per file and the totals."""
    chosen = _arguments(arguments)
    mode = Mode(chosen.local, chosen.onednn == "on", chosen.noise, chosen.training)
    seeds = range(chosen.first, chosen.first + chosen.times)
    names = chosen.exercises or list(get_exercises())
    wanted = {name: titles for name in names if (titles := _titles(name, chosen.files))}
    if not wanted:
        print(f"There is no file '{chosen.files}'.", file=sys.stderr)
        return 2
    begun, total = time.monotonic(), []
    for name, by_seed in grade_files(wanted, seeds, mode, chosen.jobs):
        found: dict[str, list[Graded]] = {title: [] for title in wanted[name]}
        for one in (one for grades in by_seed for one in grades):
            found[one.title].append(one)
            for problem in one.problems:
                print(f"    {name}, {one.title}, seed {one.seed}: {problem}", flush=True)
        for title, grades in found.items():
            passed = sum(not one.problems for one in grades)
            each = sum(one.cpu_s for one in grades) / len(grades)
            print(f"{name:12} {passed:4} of {len(grades)}  {each:6.2f} CPU s each  {title}", flush=True)
            total += grades
    failed = sum(bool(one.problems) for one in total)
    print(
        f"{sum(map(len, wanted.values()))} files, {len(total)} grades, {failed} failed; "
        f"{sum(one.cpu_s for one in total):.0f} CPU s, {time.monotonic() - begun:.0f} s; "
        f"{mode}; {processor()}, torch {torch.__version__}",
        flush=True,
    )
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
