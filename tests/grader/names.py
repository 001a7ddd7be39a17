"""Print which mistakes are named in which file: `python -m tests.grader.names [EXERCISE ...] > table`.

A line per known mistake and variant, correct file (`right/`) and wrong file (`wrong/`): the points that it gets
without the training test, the ids that are named, and the tests that fail without a name. Compare two tables with
`diff` after a change to the engine.
"""

from __future__ import annotations

import argparse
import importlib
import time
from collections.abc import Iterator
from importlib.util import find_spec

import torch

from grader.author.matrix import graded, variants, wrong_code
from grader.catalog import get_exercise, get_exercises, get_mistakes
from grader.core.submission import Submission
from grader.engine.local import LocalSubmission
from tests.grader.right import right_files

SEED = 3


def files(name: str) -> Iterator[tuple[str, Submission]]:
    """Yield all that is graded of one exercise, each with a title."""
    exercise = get_exercise(name)
    for mistake in get_mistakes(name):
        for variant in range(variants(exercise, mistake)):
            yield f"mistake {mistake.id} {variant}", wrong_code(exercise, mistake, variant)
    wrong = {}
    if find_spec(f"tests.grader.wrong.{name}"):
        found = importlib.import_module(f"tests.grader.wrong.{name}").WRONG
        wrong = {f"wrong {title}": source for title, (_, source) in found.items()}
    right = {f"right {title}": source for title, source in right_files(name).items()}
    for title, source in {**right, **wrong}.items():
        yield title, LocalSubmission.from_source(source, filename=exercise.file)


def line(name: str, submission: Submission) -> str:
    """Return what is said of one submission."""
    results = graded(get_exercise(name), submission, SEED)
    points = sum(one.points for one in results)
    failed = [one for one in results if one.status in ("failed", "error")]
    ids = sorted({mistake.id for one in failed for mistake in one.mistakes})
    unnamed = [f"{one.name}?" for one in failed if not one.mistakes]
    return f"{points:g}  {' '.join([*ids, *unnamed]) or '-'}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE", help="exercises to grade (default: all)")
    parser.add_argument("--like", default="", help="only titles that contain this")
    parser.add_argument("--time", action="store_true", help="add the CPU seconds that each grade took")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for name in chosen.exercises or get_exercises():
        for title, submission in files(name):
            if chosen.like in title:
                begun = time.process_time()
                said = line(name, submission)
                took = f"  {time.process_time() - begun:.2f} s" if chosen.time else ""
                print(f"{name} {title}: {said}{took}", flush=True)


if __name__ == "__main__":
    main()
