"""Where a learner's exercises are, and which of them is next."""

from __future__ import annotations

import os
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
        """Where the file of `exercise` is, or would be."""
        return self.path / exercise.file

    def has(self, exercise: Exercise) -> bool:
        """Whether the file of `exercise` is there."""
        return is_file(self.file(exercise))

    def record(self) -> record.Record:
        """The learner's progress. Raises ZooError if it cannot be read."""
        return record.read(self.path)

    def unsolved(self) -> list[Exercise]:
        """The exercises that are here and not solved, in order. Raises ZooError as `record` does."""
        known = self.record()
        return [
            one
            for one in get_exercises().values()
            if self.has(one) and known.entry(one.name).state != "solved"
        ]

    def current(self) -> Exercise:
        """The first exercise that is not solved.

        Raises:
            ZooError: all that are here are solved, or none is here.
        """
        unsolved = self.unsolved()
        if unsolved:
            return unsolved[0]
        missing = [one.file for one in get_exercises().values() if not self.has(one)]
        if missing:
            raise ZooError(
                f"Every exercise that is here is solved. Missing in {self.path}: {', '.join(missing)}. "
                f"`zoo start {self.path}` copies what is missing."
            )
        raise ZooError("All exercises are solved. Name a file to grade it once more.")


def is_folder(path: Path) -> bool:
    """Whether `path` is a learner's folder: it holds a progress file, or exercises that are no package."""
    if record.is_record(path / record.FILE_NAME):
        return True
    if is_file(path / "__init__.py"):  # somebody's program, with a file that happens to have such a name
        return False
    return any(is_file(path / one.file) for one in get_exercises().values())


def find_folder(start: Path | None = None) -> Folder | None:
    """The learner's folder: the current directory, its exercises/, or the same in a folder above; else None.

    A folder above, which may hold anything, counts only if it has a record.

    Args:
        start: look from here instead of the current directory.
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
    """The learner's folder that `file` lies in, or None if its folder is none."""
    return Folder(short(file.parent)) if is_folder(file.parent) else None


def need_folder(start: Path | None = None) -> Folder:
    """`find_folder`. Raises ZooError if there is none."""
    found = find_folder(start)
    if found is None:
        raise ZooError(
            f"There are no exercises in {_said(start)}, in its exercises/, or in a folder above. "
            "`zoo start DIR` copies them to a folder of your own."
        )
    return found


def locate(given: str | None) -> tuple[Folder | None, Exercise]:
    """What a command's EXERCISE means: a name, a file, or the current exercise where nothing is given.

    Returns:
        The learner's folder, or None where there is none, and the exercise.

    Raises:
        ZooError: there is no such exercise, or no folder in which one could be current.
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
    """`path` as it is named from the current directory, where that is shorter."""
    if not path.is_absolute():
        return path
    try:
        near = os.path.relpath(path)
    except (OSError, ValueError):  # the current directory is gone, or on another drive
        return path
    return Path(near) if len(near) < len(str(path)) else path


def _said(start: Path | None) -> str:
    return "the current directory" if start is None else f"'{start}'"
