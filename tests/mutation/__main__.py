"""Grade mutants of all right files, and measure what is said of them: `python -m tests.mutation --sample 10`.

A mutant is one change to a right file, at a line that is known, so nothing is labelled by hand. One that answers every
scenario rightly is not killed; it is compared with its base on other scenarios, and counted apart if it changes
nothing. Of one that is killed the place is right if the changed line is among those that are shown (for a statement
left out: the one before or after). What the CSV holds already is not measured again.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before torch is imported

from grader.catalog import get_exercises
from grader.mutants.mutants import File, Mutant, drawn
from tests.grader.right import right_files
from tests.mutation.measure import UNCHANGED, Row, identity
from tests.mutation.pool import Job, measured


def chosen(exercise: str, sample: int, seed: int, *, right: bool = True) -> Iterator[Job]:
    """What to measure: the right files, then their mutants, all of them or the first of a random order."""
    files = right_files(exercise)
    bases = list(files.items())
    for base in bases if right else ():
        yield Job(exercise, base, Mutant(UNCHANGED, 0, 0, base[1]))
    if sample:
        for number, mutant in itertools.islice(
            drawn([text for _, text in bases], f"{seed} {exercise}"), sample
        ):
            yield Job(exercise, bases[number], mutant)
        return
    seen = set(files.values())
    for base in bases:
        file = File(base[1])
        for found in map(file.mutant, file.candidates()):
            if found is not None and found.text not in seen:
                seen.add(found.text)
                yield Job(exercise, base, found)


HEAD = (
    "exercise",
    "mutants",
    "equal",
    "killed",
    "explained",
    "right",
    "wrong",
    "none",
    "median s",
    "worst s",
)
BARS = ("", "", "", ">= 99 %", ">= 95 %", ">= 90 %", "<= 3 %", "", "", "")


@dataclass(frozen=True)
class Counts:
    """What a table says of some mutants.

    Attributes:
        equal: mutants that change nothing.
        killed: share of the others that are.
        explained, right, wrong, none: shares of the killed: named or explained; by their place.
        failed: right files that failed, or were given a place.
    """

    mutants: int
    equal: int
    killed: float
    explained: float
    right: float
    wrong: float
    none: float
    median_s: float
    worst_s: float
    failed: int


def counts(rows: Iterable[Row]) -> Counts:
    """Count."""
    rows = list(rows)
    failed = sum(row.killed or bool(row.lines) for row in rows if row.operator == UNCHANGED)
    rows = [row for row in rows if row.operator != UNCHANGED]
    killed = [row for row in rows if row.killed]
    equal = sum(row.equal.isdigit() for row in rows)
    places = Counter(row.place for row in killed)
    seconds = [row.seconds for row in killed] or [0.0]
    return Counts(
        mutants=len(rows),
        equal=equal,
        killed=_share(len(killed), len(rows) - equal),
        explained=_share(sum(bool(row.named or row.said) for row in killed), len(killed)),
        right=_share(places["right"], len(killed)),
        wrong=_share(places["wrong"], len(killed)),
        none=_share(places["none"], len(killed)),
        median_s=statistics.median(seconds),
        worst_s=max(seconds),
        failed=failed,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def table(rows: Iterable[Row]) -> str:
    """Counts by exercise, in Markdown."""
    rows = list(rows)
    by_exercise = {name: [row for row in rows if row.exercise == name] for name in get_exercises()}
    cells = [HEAD, ("---",) * len(HEAD)]
    for name, some in [*by_exercise.items(), ("all", rows)]:
        if not some:
            continue
        one = counts(some)
        shares = (one.killed, one.explained, one.right, one.wrong, one.none)
        cells.append(
            (name, str(one.mutants), str(one.equal), *(f"{share:.1%}" for share in shares),
             f"{one.median_s:.1f}", f"{one.worst_s:.1f}")
        )  # fmt: skip
    cells.append(("bar", *BARS[1:]))
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    failed = counts(rows).failed
    return "\n".join([*lines, "", f"Right files that failed, or were given a place: {failed}."])


_READ: dict[str, Callable[[str], Any]] = {
    "line": int,
    "end_line": int,
    "killed": "True".__eq__,
    "seconds": float,
}


def read(file: Path) -> list[Row]:
    """The rows of a CSV; none where there is no file."""
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as opened:
        return [
            Row(**{name: _READ.get(name, str)(value) for name, value in row.items()})
            for row in csv.DictReader(opened)
        ]


def main(arguments: list[str] | None = None) -> list[Row]:
    """Measure what is not in the CSV yet, add it there, print the table. Gives all rows that were asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--exercise", action="append", choices=list(get_exercises()), help="default: all")
    parser.add_argument("--sample", type=int, default=0, help="mutants of each exercise (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample, and of the grades")
    parser.add_argument("--only-mutants", action="store_true", help="leave out the right files themselves")
    parser.add_argument("--names", action="store_true", help="look for known mistakes too")
    parser.add_argument("--cold", action="store_true", help="compute all anew for each, as a grade does")
    parser.add_argument("--jobs", type=int, default=1, help="processes; 0: in this one")
    parser.add_argument("--output", type=Path, help="CSV file; what it holds is not measured again")
    options = parser.parse_args(arguments)
    jobs = [
        job
        for name in options.exercise or get_exercises()
        for job in chosen(name, options.sample, options.seed, right=not options.only_mutants)
    ]
    done = {(row.exercise, row.id): row for row in (read(options.output) if options.output else ())}
    wanted = [(job.exercise, identity(job.mutant.text)) for job in jobs]
    rows = [done[key] for key in wanted if key in done]
    left = [job for job, key in zip(jobs, wanted, strict=True) if key not in done]
    names = [field.name for field in fields(Row)]
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
    with (options.output or Path(os.devnull)).open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        if not done:
            writer.writeheader()
        for row in measured(
            left, options.seed, name=options.names, cold=options.cold, processes=options.jobs
        ):
            rows.append(row)
            writer.writerow(asdict(row))
            file.flush()
            shown = row.place or (f"equal on {row.equal}" if row.equal.isdigit() else row.equal)
            if row.operator == UNCHANGED:
                shown = "FAILED" if row.killed else "passed"
            said = row.named or row.said
            print(
                f"{row.exercise:11} {row.base:20.20} {row.operator:18.18} {row.line:3} {shown:7} [{row.lines:7}] "
                f"{row.why:8} {row.seconds:5.1f}  {row.change:50.50} {said:.60}",
                flush=True,
            )
    print(table(rows))
    return rows


if __name__ == "__main__":
    main()
