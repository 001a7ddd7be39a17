"""The proof of an exercise: fails as shipped, its solution passes, its mistakes are named, its hints are there."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from grader.author.matrix import Row, graded, idle_tests, matrix
from grader.catalog import Exercise, get_mistakes
from grader.core.submission import SubmissionError
from grader.engine.local import LocalSubmission
from zoo.core.errors import PluginError

HINTS = 3  # at least, for each function and class


@dataclass(frozen=True)
class Proof:
    """One thing that must hold, and what speaks against it (nothing if it holds)."""

    claim: str
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Examined:
    """An exercise's proofs, and its kill matrix."""

    exercise: str
    proofs: Sequence[Proof]
    rows: Sequence[Row]

    @property
    def holds(self) -> bool:
        return not any(proof.problems for proof in self.proofs)


def examine(
    exercise: Exercise,
    seed: int,
    done: Callable[[], object] = lambda: None,
    processes: Executor | None = None,
    variant: int | None = None,
) -> Examined:
    """Prove an exercise.

    Args:
        done, processes: see `grader.author.matrix.matrix`.
        variant: see there. That every test catches a mistake is proved with all variants only.

    Raises:
        PluginError: its suite is not installed.
    """
    rows = matrix(exercise, seed, done, processes, variant)
    bad = [f"{r.mistake} (variant {r.variant}): {r.problem}" for r in rows if r.problem]
    idle = []
    if variant is None:
        idle = [Proof("every test catches a mistake", tuple(idle_tests(exercise, rows, seed)))]
    proofs = [
        Proof("the template fails and names what is not written", _template(exercise, seed)),
        Proof("the solution passes", _solution(exercise, seed)),
        Proof(f"all {len(get_mistakes(exercise.name))} known mistakes are caught and named", tuple(bad)),
        *idle,
        Proof("every mistake has a description and a hint", _texts(exercise)),
        Proof(f"every component has {HINTS} hints", _hints(exercise)),
    ]
    return Examined(exercise.name, proofs, rows)


def _template(exercise: Exercise, seed: int) -> tuple[str, ...]:
    try:
        submission = LocalSubmission.from_source(exercise.template_text(), filename=exercise.file)
        results = graded(exercise, submission, seed)
    except (PluginError, SubmissionError) as error:
        return (str(error),)
    problems = [
        f"{r.name} passes on the untouched template" for r in results if r.status == "passed" and r.points
    ]
    told = " ".join(r.message for r in results if r.status == "failed")
    problems += [
        f"no error says that {part} is not written yet" for part in exercise.components if part not in told
    ]
    return tuple(problems)


def solution_text(exercise: Exercise) -> str:
    """The shipped solution's source. Raises PluginError if it is not installed."""
    spec = importlib.util.find_spec(exercise.solution)
    if spec is None or spec.origin is None:
        raise PluginError(
            f"The solution of exercise '{exercise.name}' ({exercise.solution}) is not installed."
        )
    return Path(spec.origin).read_text(encoding="utf-8")


def _solution(exercise: Exercise, seed: int) -> tuple[str, ...]:
    try:
        submission = LocalSubmission.from_source(solution_text(exercise), filename=exercise.file)
        results = graded(exercise, submission, seed)
    except (PluginError, SubmissionError) as error:
        return (str(error),)
    return tuple(f"{r.name}: {r.status}: {r.message}" for r in results if r.status != "passed")


def _texts(exercise: Exercise) -> tuple[str, ...]:
    mistakes = get_mistakes(exercise.name)
    return tuple(f"{m.id} has no hint" for m in mistakes if not m.named.hint) + tuple(
        f"{m.id} says too little" for m in mistakes if len(m.named.text) < 30
    )


def _hints(exercise: Exercise) -> tuple[str, ...]:
    try:
        hints = exercise.all_hints()
    except PluginError as error:
        return (str(error),)
    return tuple(
        f"{part} has {len(hints.get(part, ()))} hints"
        for part in exercise.components
        if len(hints.get(part, ())) < HINTS
    )
