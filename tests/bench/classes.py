"""`python -m tests.bench.classes kills|ray|memory|throughput`: what `zoo class grade` promises, on a large class.

`kills` kills a run with -9 at random moments, resumes it each time, and compares the gradebook with that of a run
that nobody disturbed. `ray` compares a run on Ray, two actors on this machine, with one of the local engine. `memory`
prints the memory of one judge that is never replaced. `throughput` compares with one process of `zoo grade` per file,
in CPU seconds of all processes. On Linux only; the numbers are in docs/class.md.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from grader.catalog import CATEGORIES
from grader.classroom.gradebook import Gradebook
from grader.classroom.pool import Job, Limits, LocalPool
from grader.classroom.synthetic import Written, write_class
from tests import ROOT
from tests.grader.classroom.test_class import done, grades
from tests.grader.processes import ZOO
from zoo.models.devices import processor

_PR_SET_CHILD_SUBREAPER = 36
SHOWN = (100, 500, 1_000, 2_000)  # files after which memory is printed
WITHOUT_TRAINING = tuple(one for one in CATEGORIES if one != "training")


def main() -> None:
    """Measure what the command line names, and print it."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.classes", description=__doc__)
    parser.add_argument("what", choices=("kills", "ray", "memory", "throughput"))
    parser.add_argument("--exercise", default="masks", help="of all files (default: masks)")
    parser.add_argument("--files", type=int, help="number of files (default: 300, 2000 or 30)")
    parser.add_argument("--kills", type=int, default=10, help="how often the run is killed")
    parser.add_argument("--skip", default="training", help="categories of tests to skip; '' for none")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    files = given.files or {"kills": 300, "ray": 300, "memory": 2_000, "throughput": 30}[given.what]
    print(f"{files} files for {given.exercise}, without {given.skip or 'nothing'}; {processor()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="zoo-class-") as name:
        folder = Path(name)
        hostile = 0.02 if given.what in ("kills", "ray") else 0.0
        made = write_class(
            folder / "c", students=files, seed=given.seed, exercises=(given.exercise,), hostile=hostile
        )
        print(", ".join(f"{count} {kind}" for kind, count in made.kinds.items()), flush=True)
        if given.what == "kills":
            kills(folder, made, given.skip, given.kills, files, given.seed)
        elif given.what == "ray":
            ray(folder, made, given.skip)
        elif given.what == "memory":
            memory(made, given.exercise, given.skip)
        else:
            throughput(folder, made, given.exercise, given.skip)


def command(folder: Path, made: Written, skip: str, book: str, *words: str) -> subprocess.Popen[bytes]:
    """Start `zoo class grade` on a class."""
    line = [*ZOO, "class", "grade", str(made.folder), "--roster", str(made.roster), "--seed", "1"]
    line += ["--jobs", "2", "--gradebook", book, *(["--skip", skip] if skip else []), *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        line, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finished(run: subprocess.Popen[bytes]) -> None:
    """Wait for a command. Raises RuntimeError if it failed; 1 means that a file needs a decision."""
    _, said = run.communicate()
    if run.returncode not in (0, 1):
        raise RuntimeError(f"`zoo class grade` ended with {run.returncode}: {said.decode()}")


def kills(folder: Path, made: Written, skip: str, count: int, files: int, seed: int) -> None:
    """Kill a run `count` times at random moments, resume it, and compare."""
    start = time.monotonic()
    with command(folder, made, skip, "undisturbed") as run:
        finished(run)
    print(f"undisturbed: {time.monotonic() - start:.0f} s", flush=True)
    draw = random.Random(seed)
    start, book = time.monotonic(), folder / "disturbed"
    for wanted in sorted(draw.sample(range(8 * files // 10), count)):  # equal files are graded once
        with command(folder, made, skip, "disturbed") as run:
            while run.poll() is None and done(book) < wanted:
                time.sleep(0.01)
            time.sleep(draw.random())
            alive = run.poll() is None
            run.send_signal(signal.SIGKILL)
        print(f"killed at {done(book)} grades" if alive else "ended before its kill", flush=True)
    with command(folder, made, skip, "disturbed") as run:
        finished(run)
    print(f"disturbed: {time.monotonic() - start:.0f} s", flush=True)
    compare(folder / "undisturbed", book)


def ray(folder: Path, made: Written, skip: str) -> None:
    """Grade a class with the local engine and with Ray, and compare."""
    for name, words in (("local", []), ("ray", ["--engine", "ray"])):
        start = time.monotonic()
        with command(folder, made, skip, name, *words) as run:
            finished(run)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    compare(folder / "local", folder / "ray")


def compare(first: Path, second: Path) -> None:
    """Print how two gradebooks differ."""
    expected, found = grades(first), grades(second)
    with Gradebook(second) as opened:
        twice = opened.all("SELECT 1 FROM gradings GROUP BY exercise, sha256 HAVING count(*) > 1")
    print(f"{len(expected)} rows of grades, results and mistakes; {len(twice)} files graded twice")
    different = sorted({row[:3] for row in set(expected) ^ set(found)}, key=str)
    print(f"rows that differ are of {len(different)} files or students")
    for which in different:
        for book, rows in ((first, expected), (second, found)):
            print(f"  {book.name}: {next((row for row in rows if row[:3] == which), None)}")


def memory(made: Written, exercise: str, skip: str) -> None:
    """Print the memory of one judge and of its fork server as it grades one file after the other."""
    categories = tuple(one for one in CATEGORIES if one not in skip.split(","))
    sources = [path.read_bytes() for path in sorted(made.folder.rglob("*.py"))]
    jobs = [Job(i, exercise, source, 1, "cpu", categories) for i, source in enumerate(sources)]
    start = time.monotonic()
    with LocalPool(1, "strict", "cpu", Limits(files=len(jobs) + 1, memory=1e6)) as pool:
        for number, _outcome in enumerate(pool.run(jobs), 1):
            if number in (1, 10, *SHOWN, len(jobs)):
                (judge,) = pool.pids
                servers = [resident(pid) for pid in children(judge)]
                print(
                    f"{number:5} files: judge {resident(judge):.0f} MB, fork server "
                    f"{', '.join(f'{one:.0f}' for one in servers)} MB, {time.monotonic() - start:.0f} s",
                    flush=True,
                )


def resident(pid: int) -> float:
    """Resident memory in MB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def children(pid: int) -> list[int]:
    """Process ids of the children that live."""
    found = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(one) for file in found for one in file.read_text(encoding="ascii").split()]


def throughput(folder: Path, made: Written, exercise: str, skip: str) -> None:
    """Print CPU and wall seconds per file: the class in one command, and each file in a process of its own."""
    files = sorted(made.folder.rglob("*.py"))
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what others leave behind is counted too
    before, start = cpu_seconds(), time.monotonic()
    with command(folder, made, skip, "class") as run:
        finished(run)
    together = cpu_seconds() - before, time.monotonic() - start
    show("zoo class grade", together, len(files))
    before, start = cpu_seconds(), time.monotonic()
    for file in files:
        words: Sequence[str] = ["--skip", skip] if skip else []
        line = [*ZOO, "grade", str(file), "--exercise", exercise, "--seed", "1", *words]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done_ = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if done_.returncode not in (0, 1):
            raise RuntimeError(f"`zoo grade` ended with {done_.returncode}: {done_.stderr}")
    alone = cpu_seconds() - before, time.monotonic() - start
    show("zoo grade, each", alone, len(files))
    print(f"ratio: {alone[0] / together[0]:.1f} in CPU time, {alone[1] / together[1]:.1f} in wall time")


def show(what: str, seconds: tuple[float, float], files: int) -> None:
    """Print one side."""
    print(f"{what}: {seconds[0] / files:.2f} CPU s and {seconds[1] / files:.2f} wall s per file", flush=True)


def cpu_seconds() -> float:
    """CPU seconds, user and system, of all descendants that have ended; waits for those that are left."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            break
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
