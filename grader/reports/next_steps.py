"""Next steps after a grade: sentences and commands, for readable reports."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from grader.catalog import get_exercises
from grader.core.results import Grade, clean


def next_steps(grade: Grade) -> Iterator[tuple[str, str]]:
    """A sentence and the command for it; or a whole sentence and ""."""
    file = shlex.quote(clean(grade.file))
    if grade.passed and grade.selection:
        yield "Run all tests:", f"zoo grade {file}{grade.options}"
    elif grade.passed:
        if grade.next_exercise:
            yield f"Next: {_beside(grade)}", ""
        yield f"Compare your solution with ours: zoo solution {_named(grade)}", ""
    else:
        first = next(
            (result for result in grade.results if result.status in ("failed", "error")), grade.results[0]
        )
        if first.name in ("load", "rules"):
            yield "Fix this, then grade again:", f"zoo grade {file}{grade.options}{grade.selection}"
        else:
            yield (
                "Fix the first failure, then rerun its category:",
                f"zoo grade {file}{grade.options} --only {first.category}",
            )
            yield "Get a hint (each call reveals more):", f"zoo hint {_named(grade)}"
            yield (
                "Reproduce this grade exactly:",
                f"zoo grade {file}{grade.options}{grade.selection} --seed {grade.seed}",
            )


def counts(grade: Grade) -> str:
    """ "1 failed, 3 skipped, 23 passed"."""
    found = Counter[str](result.status for result in grade.results)
    errors = "grader error" if found["error"] == 1 else "grader errors"
    words = {"failed": "failed", "error": errors, "skipped": "skipped", "passed": "passed"}
    return ", ".join(f"{found[status]} {word}" for status, word in words.items() if found[status])


def out_of(points: float, max_points: float) -> str:
    """ "11/20"."""
    return f"{points:g}/{max_points:g}"


def _in_place(grade: Grade) -> bool:
    """Return whether the file has its exercise's own file name."""
    exercise = get_exercises().get(grade.exercise)
    return exercise is not None and Path(grade.file).name == exercise.file


def _named(grade: Grade) -> str:
    """The argument that names the exercise in a further command."""
    return shlex.quote(clean(grade.file)) if _in_place(grade) else grade.exercise


def _beside(grade: Grade) -> str:
    """The file of the exercise to do next, or where it comes from."""
    folder = Path(grade.file).parent if _in_place(grade) else Path("exercises")
    following = folder / grade.next_exercise
    return clean(str(following)) if following.exists() else f"{following.name} (zoo start copies it)"
