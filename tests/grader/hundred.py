"""Right code, graded again and again on fresh draws: `python tests/grader/hundred.py [EXERCISE ...]`.

Each file is graded as `zoo grade` grades it, in a worker of its own; all share one fork server. Training takes most of
the time, and is left out unless asked for.
A submission that is right must pass every time, or the grader fails people for nothing.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.author.matrix import WITHOUT_TRAINING
from grader.author.proofs import solution_text
from grader.exercise import CATEGORIES, get_exercise, get_exercises
from grader.judge.results import Grade
from grader.judge.run import Request, grade_file
from grader.judge.sandbox import Sandbox
from grader.judge.session import no_progress


def right_files(exercise: str) -> dict[str, str]:
    """Right submissions by title: the shipped solution, then the unusual ones."""
    sys.path.insert(0, str(Path(__file__).parent))
    try:
        if exercise == "attention":
            from attention_right import right_files as unusual

            found = unusual()
        else:
            from importlib import import_module

            found = import_module(f"right.{exercise}").RIGHT
    finally:
        sys.path.pop(0)
    return {"solution": solution_text(get_exercise(exercise)), **found}


def grades(
    exercise: str,
    source: str,
    seeds: range,
    sandbox: Sandbox,
    categories: Sequence[str] = WITHOUT_TRAINING,
) -> Iterator[Grade]:
    """One grade for each seed."""
    wanted = get_exercise(exercise)
    for seed in seeds:
        request = Request(
            wanted,
            wanted.file,
            source.encode(),
            device="cpu",
            seed=seed,
            categories=frozenset(categories),
            sandbox=sandbox,
        )
        yield grade_file(request, no_progress)


def failures(grade: Grade) -> list[str]:
    """What did not pass, in words: nothing for right code."""
    return [f"{one.name}: {one.status}: {one.message}" for one in grade.results if one.status != "passed"]


def _seconds() -> float:
    """CPU of this process, and of those that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(arguments: list[str] | None = None) -> int:
    """Grade, print a line a file, and say whether any grade failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="which; default: all")
    parser.add_argument("--times", type=int, default=100, help="grades of each file (default: 100)")
    parser.add_argument("--first", type=int, default=0, help="seed of the first grade (default: 0)")
    parser.add_argument("--files", choices=("solution", "unusual", "all"), default="all")
    parser.add_argument("--training", action="store_true", help="the tests that train, too")
    chosen = parser.parse_args(arguments)
    categories = CATEGORIES if chosen.training else WITHOUT_TRAINING
    seeds = range(chosen.first, chosen.first + chosen.times)
    failed = 0
    for name in chosen.exercises or list(get_exercises()):
        for title, source in right_files(name).items():
            if chosen.files != "all" and (chosen.files == "solution") != (title == "solution"):
                continue
            before, bad = _seconds(), 0
            with Sandbox() as sandbox:
                for grade in grades(name, source, seeds, sandbox, categories):
                    problems = failures(grade)
                    bad += bool(problems)
                    for problem in problems:
                        print(f"    {name}, {title}, seed {grade.seed}: {problem}", flush=True)
            each = (_seconds() - before) / chosen.times
            print(
                f"{name:12} {chosen.times - bad:4} of {chosen.times}  {each:6.2f} CPU s each  {title}",
                flush=True,
            )
            failed += bad
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
