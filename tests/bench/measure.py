"""Two things measured against each other: seconds, rounds of both in turn, the median of their ratios; or counted."""

from __future__ import annotations

import csv
import math
import os
import platform
import resource
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

Action = Callable[[], object]
Clock = Callable[[], float]


def own_seconds() -> float:
    """CPU seconds, user and system, of this process."""
    return time.process_time()


def all_seconds() -> float:
    """CPU seconds, user and system, of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def live_seconds() -> float:
    """As `all_seconds`, with the children that are still running (on Linux)."""
    tick, running = os.sysconf("SC_CLK_TCK"), 0
    for task in Path("/proc/self/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            user, system = (
                Path(f"/proc/{child}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
            )
            running += int(user) + int(system)
    return all_seconds() + running / tick


def process(arguments: Sequence[str], cwd: Path | None = None, code: int = 0) -> Action:
    """An action that runs a command to its end, silently. It raises if the exit code is another one."""

    def action() -> None:
        done = subprocess.run(arguments, capture_output=True, text=True, cwd=cwd, check=False)
        if done.returncode != code:
            raise RuntimeError(
                f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
            )

    return action


@dataclass(frozen=True)
class Benchmark:
    """One row: `a` is to take at most `bar` times as long as `b`.

    Attributes:
        name: as typed after --only.
        what: what is compared with what.
        bar: the ratio to hold; infinity for none.
        rounds: how often both are run; a first run of each is not counted.
        make: makes the two actions; what it does itself is not counted.
        clock: CPU seconds so far; `all_seconds` where the work is done in child processes.
        unit: of the clock.
    """

    name: str
    what: str
    bar: float
    rounds: int
    make: Callable[[], tuple[Action, Action]]
    clock: Clock = own_seconds
    unit: str = "CPU s"


@dataclass(frozen=True)
class Count:
    """One row: of `b` things, `a` are to be at most `bar` times as many.

    Attributes:
        name, what, bar: as of `Benchmark`.
        make: counts both.
        unit: what is counted.
    """

    name: str
    what: str
    bar: float
    make: Callable[[], tuple[int, int]]
    unit: str


@dataclass(frozen=True)
class Result:
    """A row of results.csv; medians in `unit`."""

    name: str
    what: str
    ratio: str
    bar: float
    met: str
    median_a: str
    median_b: str
    unit: str
    rounds: int
    date: str
    machine: str
    python: str
    torch: str
    threads: int


def measure(benchmark: Benchmark) -> Result:
    """Run it. The order within a round changes from round to round."""
    actions = benchmark.make()
    seconds: tuple[list[float], list[float]] = ([], [])
    for action in actions:
        action()
    for round_ in range(benchmark.rounds):
        for which in (0, 1) if round_ % 2 else (1, 0):
            before = benchmark.clock()
            actions[which]()
            seconds[which].append(benchmark.clock() - before)
    ratio = median(a / b for a, b in zip(*seconds, strict=True))
    medians = (f"{median(seconds[0]):.4f}", f"{median(seconds[1]):.4f}")
    return _result(benchmark, ratio, medians, benchmark.rounds)


def tally(count: Count) -> Result:
    """Count, once."""
    a, b = count.make()
    return _result(count, a / b, (str(a), str(b)), 1)


def _result(row: Benchmark | Count, ratio: float, medians: tuple[str, str], rounds: int) -> Result:
    import torch

    return Result(
        name=row.name,
        what=row.what,
        ratio=f"{ratio:.3f}",
        bar=row.bar,
        met="" if math.isinf(row.bar) else "yes" if ratio <= row.bar else "no",
        median_a=medians[0],
        median_b=medians[1],
        unit=row.unit,
        rounds=rounds,
        date=datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        machine=f"{cpu_model()}, {os.cpu_count()} cores",
        python=platform.python_version(),
        torch=torch.__version__,
        threads=torch.get_num_threads(),
    )


def cpu_model() -> str:
    """The processor, in words."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return found[0] if found else platform.processor() or platform.machine()


def write(results: Sequence[Result], out: Path, order: Sequence[str]) -> None:
    """Write rows; those that are there already and were not measured now stay, unless unknown by `order`."""
    rows = {}
    if out.is_file():
        with out.open(newline="", encoding="utf-8") as file:
            rows = {row["name"]: row for row in csv.DictReader(file)}
    rows |= {result.name: {key: str(value) for key, value in asdict(result).items()} for result in results}
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [one.name for one in fields(Result)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in order if name in rows)


def report(result: Result) -> None:
    """One line on standard output."""
    verdict = {"yes": f"bar {result.bar:.2f}, met", "no": f"bar {result.bar:.2f}, MISSED"}.get(
        result.met, "no bar"
    )
    medians = f"{result.median_a} / {result.median_b} {result.unit}"
    print(
        f"{result.name:<20} {result.ratio} ({verdict})  {medians}  {result.what}",
        flush=True,
    )
