"""Grade mutants, and measure the places that are shown: `python -m tests.mutation --sample 10 --seed 0`.

A mutant is one change to a right file, at a line that is known, so nothing is labelled by hand. One that answers every
scenario rightly is not killed. Of one that is killed the place is right if the changed lines are among the lines that
are shown (or, where a call or a statement was left out, between them).
"""

from __future__ import annotations

import argparse
import csv
import importlib
import multiprocessing
import os
import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before torch is imported

import torch

from grader.catalog import get_exercise, get_exercises
from grader.core.mutation import Mutant, mutants
from grader.core.submission import SubmissionError
from grader.core.value_trace import Place
from grader.engine.grading import Grading, Subject
from grader.engine.local import LocalSubmission
from grader.engine.locate import Locator
from grader.engine.place import Where
from tests import solution_file

OMITTING = {"call left out", "operand left out", "statement left out", "argument dropped", "keyword dropped"}
ASKED_S = 20  # for one mutant: some loop for ever


@dataclass(frozen=True)
class Row:
    """What was found out about one mutant. `place`: "right", "wrong", "none", or "" for one that is not killed."""

    exercise: str
    operator: str
    line: int
    end_line: int
    component: str
    killed: bool
    named: str
    place: str
    shown: str
    why: str
    proved: str
    seconds: float
    change: str


@lru_cache(maxsize=1)
def subject_of(exercise: str) -> Subject:
    """What the exercise's suite brings along."""
    found: Subject = importlib.import_module(f"{get_exercise(exercise).package}.suite.scenarios").SUBJECT
    return found


def measure(exercise: str, original: str, mutant: Mutant, seed: int, *, name: bool = False) -> Row:
    """Ask one mutant all scenarios of its exercise, and look for the place. Args: name: ask the catalogue too."""
    started, subject = time.monotonic(), subject_of(exercise)
    component, named, where = "", "", None
    killed = False
    with torch.random.fork_rng(devices=[]):
        try:
            submission = LocalSubmission.from_source(mutant.text, filename=f"{exercise}.py")
            submission.first_calls = getattr(
                importlib.import_module(get_exercise(exercise).reference), "FIRST_CALLS", {}
            )
            locator = Locator(submission, mutant.text, subject, seed)
            for component in get_exercise(exercise).components:
                wrong = locator.wrong(component)
                if wrong:
                    killed, where = True, locator.place(wrong)
                    if name:
                        accounts = Grading(submission, subject, seed).explained(
                            component, time.monotonic() + ASKED_S
                        )[1]
                        named = " ".join(account.named.id for account in accounts)
                    break
        except SubmissionError as error:
            killed = True
            where = Where(Place(error.line, error.line), "error") if error.line else None
    return Row(
        exercise,
        mutant.operator,
        mutant.line,
        mutant.end_line,
        component if killed else "",
        killed,
        named,
        verdict(mutant, where) if killed else "",
        " ".join(map(str, where.lines)) if where else "",
        where.why if where else "",
        str(where.proved) if where else "",
        round(time.monotonic() - started, 2),
        changed_line(original, mutant),
    )


def verdict(mutant: Mutant, where: Where | None) -> str:
    """Whether the lines that are shown have the change among them."""
    if where is None:
        return "none"
    changed = range(mutant.line, mutant.end_line + 1)
    if any(line in changed for line in where.lines):
        return "right"
    if mutant.operator in OMITTING and min(where.lines) < mutant.line < max(where.lines):
        return "right"
    return "wrong"


def changed_line(original: str, mutant: Mutant) -> str:
    """The first line that differs, as it is in the mutant."""
    pairs = zip(original.splitlines(), mutant.text.splitlines(), strict=False)
    return next((new.strip() for old, new in pairs if old != new), "")[:90]


def _in_time(job: tuple[str, str, Mutant, int, bool]) -> Row:
    """`measure`, in a process of its own that is ended when it takes too long."""
    exercise, original, mutant, seed, name = job
    receive, send = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=lambda: send.send(measure(exercise, original, mutant, seed, name=name))
    )
    process.start()
    row = None
    if receive.poll(ASKED_S):
        row = receive.recv()
    process.kill()
    process.join()
    if row is None:
        change = changed_line(original, mutant)
        row = Row(
            exercise,
            mutant.operator,
            mutant.line,
            mutant.end_line,
            "",
            True,
            "",
            "none",
            "",
            "time",
            "",
            ASKED_S,
            change,
        )
    return row


def chosen(exercises: Iterable[str], sample: int, seed: int) -> Iterator[tuple[str, str, Mutant]]:
    """The mutants to measure: all of each exercise, or some."""
    for exercise in exercises:
        original = solution_file(exercise).read_text(encoding="utf-8")
        found = mutants(original)
        if sample and len(found) > sample:
            found = random.Random(f"{seed} {exercise}").sample(found, sample)
        for mutant in found:
            yield exercise, original, mutant


def table(rows: Iterable[Row]) -> str:
    """Counts by exercise."""
    lines = [
        f"{'exercise':12} {'mutants':>7} {'killed':>6} {'named':>6} {'right':>6} {'wrong':>6} {'none':>6}"
    ]
    by_exercise: dict[str, list[Row]] = {}
    for row in rows:
        by_exercise.setdefault(row.exercise, []).append(row)
        by_exercise.setdefault("all", []).append(row)
    everything = by_exercise.pop("all", [])
    for name, some in [*by_exercise.items(), ("all", everything)]:
        places = Counter(row.place for row in some)
        killed, named = sum(row.killed for row in some), sum(bool(row.named) for row in some)
        lines.append(
            f"{name:12} {len(some):7} {killed:6} {named:6} {places['right']:6} {places['wrong']:6} {places['none']:6}"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, write the CSV, print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument(
        "--exercise", action="append", choices=list(get_exercises()), help="default: all but attention"
    )
    parser.add_argument("--sample", type=int, default=0, help="mutants of each exercise (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--names", action="store_true", help="ask the catalogue of known mistakes too")
    parser.add_argument("--output", type=Path, help="CSV file")
    options = parser.parse_args()
    names = options.exercise or [name for name in get_exercises() if name != "attention"]
    rows = []
    for exercise, original, mutant in chosen(names, options.sample, options.seed):
        subject_of(exercise)
        row = _in_time((exercise, original, mutant, options.seed, options.names))
        rows.append(row)
        print(
            f"{row.exercise:12} {row.place or 'alive':6} {row.line:3} [{row.shown:7}] {row.why:8} {row.change}",
            flush=True,
        )
    if options.output:
        with options.output.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(asdict(rows[0])))
            writer.writeheader()
            writer.writerows(asdict(row) for row in rows)
    print(table(rows))


if __name__ == "__main__":
    main()
