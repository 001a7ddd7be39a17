"""Estimates of the time that a class takes, from the cost of earlier grades; what a run would grade."""

from __future__ import annotations

import heapq
import itertools
import resource
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from grader.classroom.discovery import Discovery
from grader.classroom.gradebook import FINISHED, Gradebook
from grader.classroom.pool import Job, Limits, LocalPool
from zoo.core.errors import ZooError

TYPICAL = {
    "masks": (0.1, 7.0),
    "attention": (0.5, 9.0),
    "positions": (0.2, 7.0),
    "feedforward": (0.1, 8.0),
    "norm": (0.4, 13.0),
    "encoder": (0.7, 7.0),
    "decoder": (1.3, 8.0),
    "transformer": (0.4, 7.0),
    "loss": (0.1, 6.0),
    "decoding": (2.8, 6.0),
    "training": (0.2, 7.0),
    "kv_cache": (0.2, 5.0),
}
"""CPU seconds of a grade of the shipped solution, by exercise: without training, with it. Measured with one judge that
was already started, on an Intel Xeon; used until the gradebook has grades of its own."""
UNKNOWN = (1.5, 12.0)  # of an exercise of a plugin
START_S = 5.0  # CPU seconds until a judge is ready; `start_cost` measures it


@dataclass(frozen=True)
class Expected:
    """The expected cost of grading a file of an exercise.

    Attributes:
        exercise: its name.
        files: how many are to be graded.
        cpu_s: CPU seconds of each, on average.
        grades: how many grades in the gradebook say so; 0: the costs are typical ones.
    """

    exercise: str
    files: int
    cpu_s: float
    grades: int


@dataclass(frozen=True)
class Preview:
    """A preview of a run.

    Attributes:
        expected: one per exercise with files to grade.
        before: files that have a grade.
        equal: submissions whose file is equal to that of another one, which is graded once for both.
        seconds: until the last file is graded.
    """

    expected: tuple[Expected, ...]
    before: int
    equal: int
    seconds: float

    @property
    def files(self) -> int:
        """The number of files that would be graded."""
        return sum(one.files for one in self.expected)

    @property
    def measured(self) -> bool:
        """Return whether all costs are from grades in the gradebook."""
        return all(one.grades for one in self.expected)


def preview(book: Gradebook | None, found: Discovery, selection: str, slots: int) -> Preview:
    """Preview what `zoo class grade` would do with a folder. Writes nothing.

    Args:
        book: the gradebook, open for reading; None: there is none yet.
        found: in the folder.
        selection: of tests, as `Settings.selection` has it.
        slots: how many files are graded side by side, on a core each.
    """
    handed_in = [(one.exercise, one.sha256) for one in found.submissions]
    files, graded = set(handed_in), set()
    if book is not None:
        files |= {(row[0], row[1]) for row in book.all("SELECT exercise, sha256 FROM submissions")}
        marks = ", ".join("?" * len(FINISHED))
        last = f"SELECT max(id) FROM gradings WHERE state IN ({marks}) GROUP BY exercise, sha256"
        query = f"SELECT exercise, sha256 FROM gradings WHERE id IN ({last}) AND selection = ?"
        graded = {(row[0], row[1]) for row in book.all(query, (*FINISHED, selection))}
    counts = Counter(exercise for exercise, _sha256 in files - graded)
    expected = tuple(
        Expected(exercise, count, *expected_cost(book, exercise, selection))
        for exercise, count in sorted(counts.items())
    )
    seconds = finish(
        itertools.chain.from_iterable([one.cpu_s] * one.files for one in expected), slots, START_S
    )
    return Preview(expected, len(files & graded), len(handed_in) - len(set(handed_in)), seconds)


def expected_cost(book: Gradebook | None, exercise: str, selection: str) -> tuple[float, int]:
    """CPU seconds of a grade on average, and how many grades in the gradebook say so."""
    if book is not None:
        (row,) = book.all(
            "SELECT avg(cpu_s) AS mean, count(*) AS grades FROM gradings WHERE cpu_s > 0 AND exercise = ? "
            "AND selection = ?",
            (exercise, selection),
        )
        if row["grades"]:
            return float(row["mean"]), int(row["grades"])
    return TYPICAL.get(exercise, UNKNOWN)["training" in selection.split(",")], 0


def costs(book: Gradebook) -> list[float]:
    """CPU seconds of each grade in the gradebook. Raises ZooError if there is none."""
    found = [
        float(row["cpu_s"]) for row in book.all("SELECT cpu_s FROM gradings WHERE cpu_s > 0 ORDER BY id")
    ]
    if not found:
        raise ZooError(
            f"'{book.path}' has no grades to estimate from. Grade some files first: `zoo class grade FOLDER`."
        )
    return found


def start_cost(exercise: str) -> float:
    """CPU seconds until a judge of the pool is ready, as this machine takes now."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with LocalPool(1, "process", "cpu") as pool:
        list(pool.run([Job(0, exercise, b"def (", 0, "cpu", ())]))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def simulate(
    measured: Sequence[float], files: int, slots: int, start: float, replaced: int | None = None
) -> float:
    """Seconds until the last of `files` is graded, whose costs are those measured, in equal shares. See `finish`."""
    return finish(itertools.islice(itertools.cycle(sorted(measured)), files), slots, start, replaced)


def finish(costs: Iterable[float], slots: int, start: float, replaced: int | None = None) -> float:
    """Seconds until the last of some files is graded.

    Each slot has a core of its own, takes the longest file that is left, and begins with a new judge, also after
    `replaced` files (as the pool does).
    """
    replaced = replaced or Limits().files
    waiting = sorted(costs, reverse=True)
    free = [(0.0, 0, slot) for slot in range(min(slots, len(waiting)))]
    last = 0.0
    for cost in waiting:
        now, graded, slot = heapq.heappop(free)
        now += cost + (start if graded % replaced == 0 else 0.0)
        last = max(last, now)
        heapq.heappush(free, (now, graded + 1, slot))
    return last
