"""Grade the mistakes written by hand, and measure what is said of them: `python -m tests.mutation.by_hand --jobs 2`.

Each is graded as a mutant is (`tests.mutation`), without the training test. A line is right if a wrong line is among
those that are shown.
"""

from __future__ import annotations

import argparse
import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before torch is imported

from grader.catalog import get_exercises
from grader.mutants.mutants import Mutant
from tests.mutation.__main__ import counts
from tests.mutation.by_hand.case import Case
from tests.mutation.by_hand.misconceptions import MISCONCEPTIONS
from tests.mutation.by_hand.slips import SLIPS
from tests.mutation.measure import Row, identity, place_of
from tests.mutation.pool import Job, measured

CASES = (*MISCONCEPTIONS, *SLIPS)
FIELDS = ("exercise", "number", "what", "killed", "explained", "shown", "wrong", "line", "seconds")
HEAD = ("exercise", "files", "killed", "explained", "right", "wrong", "none")


def of(exercise: str) -> list[Case]:
    """The cases of an exercise; a case's number is its place there, from 1 on."""
    return [case for case in CASES if case.exercise == exercise]


def job_of(case: Case) -> Job:
    """The case as a mutant, from its first wrong line to its last."""
    right, wrong = case.texts()
    lines = case.wrong_lines()
    return Job(case.exercise, (case.title, right), Mutant("by hand", min(lines), max(lines), wrong))


def graded(cases: Sequence[Case], seed: int, jobs: int) -> Iterator[tuple[Case, Row]]:
    """Each case with what was found out about it; a place is right at a wrong line alone, not between two."""
    wanted = [job_of(case) for case in cases]
    by_id = {identity(job.mutant.text): case for job, case in zip(wanted, cases, strict=True)}
    for row in measured(wanted, seed, name=True, cold=True, processes=jobs):
        case, shown = by_id[row.id], [int(line) for line in row.lines.split()]
        yield case, replace(row, place=place_of(shown, case.wrong_lines()) if row.killed else "")


def table(rows: Sequence[Row]) -> str:
    """Counts by exercise, in Markdown; what survives counts as such, whether or not a difference was found."""
    lines = [HEAD, ("---",) * len(HEAD)]
    for name in (*get_exercises(), "all"):
        some = [replace(row, equal="") for row in rows if name in (row.exercise, "all")]
        if some:
            one = counts(some)
            shares = (one.killed, one.explained, one.right, one.wrong, one.none)
            lines.append((name, str(len(some)), *(f"{share:.1%}" for share in shares)))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main(arguments: list[str] | None = None) -> list[Row]:
    """Grade the cases, write the CSV, print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.by_hand", description=__doc__)
    parser.add_argument(
        "--only", nargs="+", metavar="EXERCISE", choices=list(get_exercises()), help="default: all"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes; 0: in this one")
    parser.add_argument("--seed", type=int, default=0, help="of the grades")
    parser.add_argument("--output", type=Path, help="CSV file to write, one row per case")
    options = parser.parse_args(arguments)
    rows: list[Row] = []
    if options.output:
        options.output.parent.mkdir(parents=True, exist_ok=True)
    with (options.output or Path(os.devnull)).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        cases = [case for name in options.only or get_exercises() for case in of(name)]
        for case, row in graded(cases, options.seed, options.jobs):
            rows.append(row)
            number, wrong = of(case.exercise).index(case) + 1, " ".join(map(str, sorted(case.wrong_lines())))
            said = row.named or row.said
            writer.writerow(
                (case.exercise, number, case.what, row.killed, said, row.lines, wrong, row.place, row.seconds)
            )
            file.flush()
            shown = row.place if row.killed else "SURVIVED"
            print(
                f"{case.exercise:11} {number:2} {shown:8} [{row.lines:7}] of [{wrong:12}] {row.seconds:5.1f}  "
                f"{case.what:60.60} {said:.60}",
                flush=True,
            )
    print(table(rows))
    return rows


if __name__ == "__main__":
    main()
