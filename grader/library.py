"""The grader as a library: what `import grader` offers. Importing this imports no torch and no pytest."""

from __future__ import annotations

import difflib
import os
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from grader.catalog import CATEGORIES, exercise_for, get_exercise
from grader.core.results import Grade as Grade
from grader.core.results import GraderBrokenError as GraderBrokenError
from grader.core.results import Result as Result
from grader.run.run import read_bounded
from zoo.core.errors import ZooError, unknown_name

if TYPE_CHECKING:
    from grader.sandbox.sandbox import Asked

MAX_SEED = 2**31 - 1


def grade_file(
    path: str | os.PathLike[str],
    exercise: str | None = None,
    *,
    seed: int | None = None,
    sandbox: Asked = "auto",
    only: Collection[str] = (),
    skip: Collection[str] = (),
    device: Literal["auto", "cpu", "cuda"] = "cpu",
) -> Grade:
    """Return the grade of a learner's file, as `zoo grade` finds it. Nothing is printed or written.

    The file's code runs in a process of its own, confined as `sandbox` says. A file that cannot be loaded, or
    whose code has to be stopped, gets a grade too, with what went wrong in the first result.

    >>> import grader                                                           # doctest: +SKIP
    >>> grade = grader.grade_file("my-transformer/attention.py", skip=["training"])
    >>> grade.passed, grade.points, grade.max_points
    (False, 31.0, 57.0)
    >>> [mistake.id for mistake in grade.mistakes]
    ['missing-scale']

    Args:
        path: the file.
        exercise: its name ("attention"); inferred from the name of the file if None.
        seed: of every random draw of the tests, 0 to 2^31 - 1; drawn if None, and noted in the grade.
        sandbox: "strict", "process", or "auto", the strictest level available.
        only: categories of tests to run; all if empty. `grader.catalog.CATEGORIES` has their names.
        skip: categories to leave out.
        device: where the file's code runs: "cpu", "cuda", or "auto".

    Raises:
        ZooError: the file cannot be read, its exercise is unknown, `only` and `skip` leave no test, or the device
            or sandbox is not available.
        GraderBrokenError: the grader itself is broken, which says nothing about the file.
    """
    from grader.run.run import Request
    from grader.run.run import grade_file as run

    file, wanted = Path(path), categories(only, skip)
    seed = _seed(seed)
    if sandbox not in ("auto", "strict", "process"):
        raise unknown_name("sandbox level", str(sandbox), ("auto", "strict", "process"))
    source = read_source(file)
    found = exercise_for(file) if exercise is None else get_exercise(exercise)
    from grader.sandbox.sandbox import Sandbox

    with environment_restored(), Sandbox(sandbox) as where:
        request = Request(
            exercise=found,
            file=str(file),
            source=source,
            device=device,
            seed=seed,
            categories=wanted,
            sandbox=where,
            selection=_as_options(only=only, skip=skip),
            options=f" --exercise {exercise}" if exercise else "",
        )
        return run(request, _no_progress)


def _as_options(**names: Collection[str]) -> str:
    """Return options as typed: " --only masking"."""
    return "".join(f" --{option} {','.join(some)}" for option, some in names.items() if some)


def _seed(seed: int | None) -> int:
    """Return `seed`, or one that is drawn for None. Raises ZooError if it is out of range."""
    if seed is None:
        return secrets.randbelow(MAX_SEED + 1)
    if not 0 <= seed <= MAX_SEED:
        raise ZooError(f"seed={seed}: expected a whole number from 0 to {MAX_SEED}.")
    return seed


def categories(only: Collection[str] = (), skip: Collection[str] = ()) -> frozenset[str]:
    """Return the categories of tests to run. Raises ZooError for an unknown one, or if none is left."""
    for name in (*only, *skip):
        if name not in CATEGORIES:
            raise unknown_name("category", name, CATEGORIES)
    chosen = (frozenset(only) or frozenset(CATEGORIES)) - frozenset(skip)
    if not chosen:
        raise ZooError("`only` and `skip` exclude all tests.")
    return chosen


def read_source(file: Path) -> bytes:
    """Return the content of a learner's file. Raises ZooError if there is nothing to read."""
    if file.is_dir():
        such = "" if file.suffix == ".py" else f", such as {file / 'attention.py'}"
        raise ZooError(f"'{file}' is a directory; expected a Python file{such}.")
    if not file.exists():
        folder = file.parent
        names = [one.name for one in folder.iterdir() if one.suffix == ".py"] if folder.is_dir() else []
        near = difflib.get_close_matches(file.name, names, n=1)
        raise ZooError(f"No such file: '{file}'." + (f" Did you mean {folder / near[0]}?" if near else ""))
    if not file.is_file():
        raise ZooError(f"'{file}' is not a regular file; expected a Python file.")
    try:
        return read_bounded(file)
    except OSError as error:
        raise ZooError(f"'{file}' cannot be read: {error.strerror}.") from error


@contextmanager
def environment_restored() -> Iterator[None]:
    """Put back the environment variables that the block changes: a grade sets the number of threads."""
    before = dict(os.environ)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _no_progress(what: str, done: int, total: int) -> None:
    """Report nothing."""
