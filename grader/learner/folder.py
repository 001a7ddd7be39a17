"""The folder of a learner's exercises, and the exercise that is next."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from grader.catalog import Exercise, exercise_for, get_exercise, get_exercises
from grader.learner import record
from grader.learner.files import is_file
from zoo.core.errors import ZooError


@dataclass(frozen=True)
class Folder:
    """The folder of a learner's exercises.

    Attributes:
        path: as a command can name it from here.
    """

    path: Path

    def file(self, exercise: Exercise) -> Path:
        """Return the path of the file of `exercise`, which need not exist."""
        return self.path / exercise.file

    def has(self, exercise: Exercise) -> bool:
        """Return whether the file of `exercise` exists."""
        return is_file(self.file(exercise))

    def record(self) -> record.Record:
        """Return the learner's progress. Raises ZooError if it cannot be read."""
        return record.read(self.path)

    def keeps_progress(self) -> bool:
        """Return whether there is a progress file. Only `zoo start` and `zoo watch` create one."""
        return record.is_record(self.path / record.FILE_NAME)

    def is_damaged(self) -> bool:
        """Return whether there is a damaged progress file, in which nothing is saved."""
        return record.is_damaged(self.path / record.FILE_NAME)

    def unsolved(self) -> list[Exercise]:
        """Return the unsolved exercises of this folder, in order. Raises ZooError as `record` does."""
        known = self.record()
        return [
            one
            for one in get_exercises().values()
            if self.has(one) and known.entry(one.name).state != "solved"
        ]

    def current(self) -> Exercise:
        """Return the first unsolved exercise.

        Raises:
            ZooError: every exercise of this folder is solved, or it has none.
        """
        unsolved = self.unsolved()
        if unsolved:
            return unsolved[0]
        missing = [one.file for one in get_exercises().values() if not self.has(one)]
        if missing:
            raise ZooError(
                f"Every exercise in {_in_words(self.path)} is solved. Missing: {', '.join(missing)}. "
                f"Copy the missing ones with `zoo start {shlex.quote(str(self.path))}`."
            )
        raise ZooError("All exercises are solved. To grade one again, name its file.")


def is_folder(path: Path) -> bool:
    """Return whether `path` is a learner's folder: it has a progress file, or exercises outside any package."""
    if record.is_record(path / record.FILE_NAME):
        return True
    if is_file(path / "__init__.py"):  # a package with a file that happens to have such a name
        return False
    return any(is_file(path / one.file) for one in get_exercises().values())


def find_folder(start: Path | None = None) -> Folder | None:
    """Find the learner's folder: the current directory, its exercises/, or the same in a parent; else None.

    A parent itself counts only if it has a progress file.

    Args:
        start: search from here instead of the current directory.
    """
    try:
        here = (start or Path()).absolute()
    except OSError:  # the current directory is gone
        return None
    for place in (here, *here.parents):
        if is_folder(place) and (place == here or record.is_record(place / record.FILE_NAME)):
            return Folder(short(place))
        if is_folder(place / "exercises"):
            return Folder(short(place / "exercises"))
    return None


def folder_of(file: Path) -> Folder | None:
    """Return the folder of `file` if it is a learner's folder, else None."""
    return Folder(short(file.parent)) if is_folder(file.parent) else None


def need_folder(start: Path | None = None) -> Folder:
    """`find_folder`. Raises ZooError if there is none."""
    found = find_folder(start)
    if found is None:
        raise ZooError(
            f"There are no exercises in {_in_words(start)}, in its exercises/, or in a parent directory. "
            "Copy them to a folder of your own with `zoo start DIR`."
        )
    return found


def locate(given: str | None) -> tuple[Folder | None, Exercise]:
    """Resolve a command's EXERCISE: a name, a file, or None for the current exercise.

    Returns:
        The learner's folder (None if there is none) and the exercise.

    Raises:
        ZooError: there is no such exercise, or no learner's folder to find the current one in.
    """
    if given is None:
        folder = need_folder()
        return folder, folder.current()
    file = Path(given)
    if file.suffix == ".py" or file.parent != Path():
        exercise = exercise_for(file)
        return folder_of(file) if file.parent != Path() or is_file(file) else find_folder(), exercise
    return find_folder(), get_exercise(given)


def short(path: Path) -> Path:
    """Return `path` relative to the current directory, if that is shorter."""
    if not path.is_absolute():
        return path
    try:
        near = os.path.relpath(path)
    except (OSError, ValueError):  # the current directory is gone, or on another drive
        return path
    return Path(near) if len(near) < len(str(path)) else path


def _in_words(path: Path | None) -> str:
    return "the current directory" if path in (None, Path()) else f"'{path}'"
