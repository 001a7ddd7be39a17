"""How long a class will take, from what its grades have cost so far."""

from __future__ import annotations

import heapq
import itertools
import resource
from collections.abc import Sequence

from grader.classroom.gradebook import Gradebook
from grader.classroom.pool import Job, Limits, LocalPool
from zoo.core.errors import ZooError


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
    """Seconds until the last of `files` is graded.

    Each slot has a core of its own, takes the longest file that is left, and begins with a new judge, also after
    `replaced` files (as the pool does). Costs are those measured, in equal shares.
    """
    replaced = replaced or Limits().files
    waiting = sorted(itertools.islice(itertools.cycle(sorted(measured)), files), reverse=True)
    free = [(0.0, 0, slot) for slot in range(min(slots, files))]
    last = 0.0
    for cost in waiting:
        now, graded, slot = heapq.heappop(free)
        now += cost + (start if graded % replaced == 0 else 0.0)
        last = max(last, now)
        heapq.heappush(free, (now, graded + 1, slot))
    return last
