"""Copy all exercises to a learner's folder, or reset one exercise in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.catalog import Exercise, get_exercises
from grader.learner import files
from grader.learner.folder import Folder
from grader.learner.notebooks import notebook_name, notebook_text
from grader.learner.record import FILE_NAME, HEADER, Entry, update
from zoo.core.errors import PluginError, ZooError

README = "README.md"

_TEXT = """# The exercises

You write a Transformer, one file at a time, and the grader names your mistakes. Each file begins with an
explanation, followed by the code for you to complete. Do them in this order:

{exercises}

In this folder:

    zoo watch          grade the current exercise on every save; press h there for a hint
    zoo grade          grade it once; `zoo grade FILE` grades another one
    zoo trace FILE     show what each line computes, and the first wrong value
    zoo hint           show a hint; each call reveals more
    zoo progress       show what is solved
    zoo quiz FILE      change one thing in your correct file and guess what happens
    zoo reset NAME     replace your file with a fresh copy (yours is renamed)
    zoo solution NAME  show our solution, once yours passes

Your progress is saved in `{progress}`, a plain text file.
"""


@dataclass
class Started:
    """The result of `start`.

    Attributes:
        copied: names of the files that were written.
        kept: names of those that existed and were not changed.
        missing: why an exercise could not be copied.
    """

    copied: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def start(path: Path, notebooks: bool = False) -> Started:
    """Copy all exercises, a README and an empty progress file to `path`; existing files are not changed.

    With `notebooks`, each exercise is there as a notebook, too.

    Raises:
        ZooError: the folder or a file in it cannot be written, or there is nothing to copy.
    """
    done, texts = Started(), {}
    for exercise in get_exercises().values():
        try:
            texts[exercise.file] = exercise.template_text()
        except PluginError as error:
            done.missing.append(str(error))
    if not texts:
        raise ZooError(" ".join(["There are no exercises to copy.", *done.missing]))
    _make(path)
    if notebooks:
        for exercise in get_exercises().values():
            if exercise.file in texts:
                texts[notebook_name(exercise)] = notebook_text(exercise, texts[exercise.file])
    texts[README] = readme(list(get_exercises().values()))
    texts[FILE_NAME] = "".join(f"{line}\n" for line in HEADER)
    for name, text in texts.items():
        new = files.write_new(path / name, text.encode("utf-8"))
        (done.copied if new else done.kept).append(name)
    return done


def readme(exercises: Sequence[Exercise]) -> str:
    """Return the README of a learner's folder."""
    rows = "\n".join(f"{number}. `{one.file}`: {one.title}" for number, one in enumerate(exercises, start=1))
    return _TEXT.format(exercises=rows, progress=FILE_NAME)


def _make(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ZooError(f"'{path}' is a file; expected a new or existing directory.") from error
    except OSError as error:
        raise ZooError(f"Cannot create directory '{path}': {error.strerror or error}.") from error


def reset(folder: Folder, exercise: Exercise) -> Path | None:
    """Write a fresh copy of `exercise` to `folder`, and keep the old file under a free name.

    Returns:
        The new name of the old file, or None if there was none or it was unchanged.

    Raises:
        ZooError: the file cannot be read or written, or the template is not installed; nothing is changed then.
    """
    fresh, file = exercise.template_text().encode("utf-8"), folder.file(exercise)
    try:
        old = file.read_bytes()
    except FileNotFoundError:
        old = None
    except OSError as error:
        raise ZooError(
            f"'{file}' cannot be read, so it was not changed: {error.strerror or error}."
        ) from error
    if old == fresh:
        return None
    aside = None
    if old is not None:
        aside = next(name for name in files.free_name(file) if files.write_new(name, old))
    files.replace(file, fresh)
    return aside


def forget(folder: Folder, exercise: Exercise) -> None:
    """Clear the progress in `exercise`. Raises ZooError if it cannot be written."""
    update(folder.path, exercise.name, lambda entry: Entry(more=entry.more))
