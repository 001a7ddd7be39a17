"""The kill matrix: every known mistake of an exercise against its hidden tests, without the training test."""

from __future__ import annotations

import gc
import importlib
import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

import torch

from grader.catalog import CATEGORIES, Exercise, get_mistakes
from grader.core.results import Result
from grader.core.submission import Submission
from grader.engine.local import LocalSubmission
from grader.engine.mistakes import Mistake
from grader.run.session import Session

WITHOUT_TRAINING = tuple(category for category in CATEGORIES if category != "training")


@dataclass(frozen=True)
class Row:
    """One way of making one mistake, and what became of it.

    Attributes:
        exercise, mistake: their names.
        variant: which way of writing it, counted from 0.
        killed_by: the test that failed first, or "".
        named: ids that the failed tests gave.
        seen_by: all tests that failed for it, also those that were skipped because it was reported already.
        problem: what is not as it must be, or "".
    """

    exercise: str
    mistake: str
    variant: int
    killed_by: str
    named: tuple[str, ...]
    seen_by: tuple[str, ...]
    problem: str


def graded(exercise: Exercise, submission: Submission, seed: int) -> list[Result]:
    """The results of all tests but training ones."""
    return Session(exercise, lambda: submission, seed=seed).run(WITHOUT_TRAINING)


def wrong_code(exercise: Exercise, mistake: Mistake[Any], variant: int) -> Submission:
    """The reference with one mistake in it, in the parts in which it can be made."""
    reference = importlib.import_module(exercise.reference)
    make: Callable[..., Any] = getattr(
        reference, "with_mistake", lambda steps, _parts: reference.namespace(steps)
    )
    return LocalSubmission(make(mistake.variants(reference.REFERENCE)[variant], mistake.parts))


def variants(exercise: Exercise, mistake: Mistake[Any]) -> int:
    """Return how many ways of writing a mistake there are."""
    return len(mistake.variants(importlib.import_module(exercise.reference).REFERENCE))


def row(exercise: Exercise, mistake: Mistake[Any], variant: int, seed: int) -> Row:
    """Grade one mistake."""
    results = graded(exercise, wrong_code(exercise, mistake, variant), seed)
    failed = [r for r in results if r.status == "failed"]
    named = tuple(sorted({one.id for r in failed for one in r.mistakes}))
    echoes = [r.name for r in results if r.status == "skipped" and r.message.startswith("same cause as")]
    return Row(
        exercise.name,
        mistake.id,
        variant,
        failed[0].name if failed else "",
        named,
        (*(r.name for r in failed), *echoes),
        _problem(mistake.id, results, failed, named),
    )


def _problem(
    mistake: str, results: Sequence[Result], failed: Sequence[Result], named: tuple[str, ...]
) -> str:
    broken = [r for r in results if r.status == "error"]
    if broken:
        return f"the test {broken[0].name} broke: {broken[0].message}"
    if not failed:
        return "not caught: no test failed"
    if named != (mistake,):
        return f"named {', '.join(named) or 'nothing'}"
    if len(failed) > 1:
        return f"fails {len(failed)} tests; a mistake must fail exactly one"
    return ""


def rows_of(exercise: Exercise, mistake_id: str, seed: int, variant: int | None = None) -> list[Row]:
    """All rows of one mistake, or that of one variant. Args: variant: its number, which goes round."""
    mistake = next(m for m in get_mistakes(exercise.name) if m.id == mistake_id)
    count = variants(exercise, mistake)
    some = range(count) if variant is None else [variant % count]
    return [row(exercise, mistake, number, seed) for number in some]


def matrix(
    exercise: Exercise,
    seed: int,
    done: Callable[[], object] = lambda: None,
    processes: Executor | None = None,
    variant: int | None = None,
) -> list[Row]:
    """All rows of an exercise, in the order of its mistakes.

    Args:
        done: called after each mistake.
        processes: where to grade, see `grading_processes`; in this process if there are none.
        variant: of each mistake, see `rows_of`; None: all.
    """
    names = [mistake.id for mistake in get_mistakes(exercise.name)]
    found: dict[str, list[Row]] = {}
    if processes is None:
        for name in names:
            found[name] = rows_of(exercise, name, seed, variant)
            done()
    else:
        asked = {processes.submit(rows_of, exercise, name, seed, variant): name for name in names}
        for future in as_completed(asked):
            found[asked[future]] = future.result()
            done()
    return [one for name in names for one in found[name]]


def grading_processes(count: int) -> ProcessPoolExecutor:
    """So many processes, of one thread each. Close it, or use it as a context manager."""
    return ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _alone)


def _alone() -> None:
    """One thread; and what is imported is no garbage: looking through it again and again takes a tenth of the time."""
    torch.set_num_threads(1)
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)


def idle_tests(exercise: Exercise, rows: Sequence[Row], seed: int) -> list[str]:
    """Tests that no known mistake fails: they prove nothing, or their mistake is missing."""
    reference = importlib.import_module(exercise.reference)
    names = [
        r.name for r in graded(exercise, LocalSubmission(reference.namespace(reference.REFERENCE)), seed)
    ]
    seen = {name for one in rows for name in one.seen_by}
    return [name for name in names if name not in seen]
