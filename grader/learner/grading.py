"""What a grade leaves in the record."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.learner.folder import Folder, folder_of
from grader.learner.record import FILE_NAME, Entry, is_record, update

if TYPE_CHECKING:
    from grader.catalog import Exercise
    from grader.core.results import Grade


def home_of(file: Path, exercise: Exercise, *, alone: bool) -> Folder | None:
    """The learner's folder in which a grade of `file` counts, or None.

    Args:
        file: the file, as it was given.
        exercise: what it is graded as.
        alone: whether all files graded are of one folder, as a learner's are. Those of a class, each in a
            folder of its own, get no progress file that they do not have.
    """
    folder = folder_of(file) if file.name == exercise.file else None
    if folder is None or not (alone or is_record(folder.path / FILE_NAME)):
        return None
    return folder


def keep(folder: Folder, grade: Grade) -> Entry:
    """Write what `grade` found into the record of `folder`.

    Only a grade with all tests says whether an exercise is solved, and what is solved stays so. The mistakes are
    those of the last grade, whichever tests it had.

    Raises:
        ZooError: the record cannot be read or written. The grade is as good as before.
    """
    return update(folder.path, grade.exercise, lambda entry: after(entry, grade))


def after(entry: Entry, grade: Grade) -> Entry:
    """What is known of an exercise after `grade`, when `entry` was known before."""
    if any(result.status == "error" for result in grade.results):
        return entry  # the grader's fault
    ids = tuple(mistake.id for mistake in grade.mistakes)
    found = replace(
        entry,
        mistakes=ids,
        component=failed_component(grade),
        advice=" ".join(grade.mistakes[0].hint.split()) if ids else "",
        hints={
            of: count
            for of, count in entry.hints.items()
            if of in ids or not _is_mistake(of, grade.components)
        },
    )
    if grade.selection:
        return found
    if grade.passed:
        return replace(found, state="solved", points=f"{grade.points:g}/{grade.max_points:g}")
    if entry.state == "solved":
        return found
    return replace(found, state="tried", points=f"{grade.points:g}/{grade.max_points:g}")


def _is_mistake(name: str, components: tuple[str, ...]) -> bool:
    return name not in components


def failed_component(grade: Grade) -> str:
    """The function or class that the first failure speaks of, or "" if it names none."""
    for result in grade.results:
        if result.status == "failed":
            texts = [result.title, result.message, *(mistake.text for mistake in result.mistakes)]
            spoken = " ".join(texts)
            return next((one for one in grade.components if re.search(rf"\b{re.escape(one)}\b", spoken)), "")
    return ""
