"""Record the result of a grade in the learner's progress file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.learner.folder import Folder, folder_of
from grader.learner.hints import PLACE
from grader.learner.record import Entry, update

if TYPE_CHECKING:
    from grader.catalog import Exercise
    from grader.core.results import Grade


def home_of(file: Path, exercise: Exercise) -> Folder | None:
    """Return the learner's folder whose progress file, unless damaged, records grades of `file`, or None.

    A grade never creates a progress file: a folder has one from `zoo start` or `zoo watch`.

    Args:
        file: the file, as it was given.
        exercise: what it is graded as.
    """
    folder = folder_of(file) if file.name == exercise.file else None
    return folder if folder is not None and (folder.keeps_progress() or folder.is_damaged()) else None


def keep(folder: Folder, grade: Grade) -> Entry:
    """Write `grade` to the progress file of `folder`.

    Only a grade with all tests can mark an exercise as solved, and a solved one stays solved. The mistakes are
    those of the last grade, whichever tests it ran.

    Raises:
        ZooError: the progress file cannot be read or written.
    """
    return update(folder.path, grade.exercise, lambda entry: after(entry, grade))


def after(entry: Entry, grade: Grade) -> Entry:
    """Return the entry of an exercise after `grade`, given the one before."""
    if any(result.status == "error" for result in grade.results):
        return entry  # the grader's fault
    ids = tuple(mistake.id for mistake in grade.mistakes)
    place = found_place(grade)
    found = replace(
        entry,
        mistakes=ids,
        component=failed_component(grade),
        place=place,
        advice=" ".join(grade.mistakes[0].hint.split()) if ids else "",
        hints={
            of: count
            for of, count in entry.hints.items()
            if of in ids or of in grade.components or (of == PLACE and place == entry.place)
        },
    )
    if grade.selection:
        return replace(found, state="tried") if entry.state == "new" else found
    if grade.passed:
        return replace(found, state="solved", points=f"{grade.points:g}/{grade.max_points:g}")
    if entry.state == "solved":
        return found
    return replace(found, state="tried", points=f"{grade.points:g}/{grade.max_points:g}")


def found_place(grade: Grade) -> str:
    """Return the line of the first failure that is not an error, and the function around it, or ""."""
    for result in grade.results:
        if result.status == "failed" and result.where is not None and result.where.why != "error":
            return " ".join(filter(None, [str(result.where.line), result.where.region]))
    return ""


def failed_component(grade: Grade) -> str:
    """Return the function or class that the first failure names, or ""."""
    for result in grade.results:
        if result.status == "failed":
            texts = [result.title, result.message, *(mistake.text for mistake in result.mistakes)]
            spoken = " ".join(texts)
            return next((one for one in grade.components if re.search(rf"\b{re.escape(one)}\b", spoken)), "")
    return ""
