"""A fresh copy: of all exercises to a folder of the learner's own, or of one exercise in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from grader.catalog import Exercise, get_exercises
from grader.learner import files
from grader.learner.folder import Folder
from grader.learner.record import FILE_NAME, HEADER, Entry, update
from zoo.core.errors import PluginError, ZooError

README = "README.md"

_TEXT = """# The exercises

You write a Transformer, one file at a time, and the grader tells you which mistake you made. Each file
begins with a page that explains; below it is what you write. Do them in this order:

{exercises}

In this folder:

    zoo watch         grades the file you are at each time you save it; press h there for a hint
    zoo grade         grades it once; `zoo grade FILE` another one
    zoo hint          says what to look at next, and a little more each time
    zoo progress      shows what is solved
    zoo reset NAME    a fresh copy of an exercise; what you wrote is kept beside it
    zoo solution NAME the solution, once yours passes

What you have solved is written in `{progress}`. It is plain text, and yours.
"""


@dataclass
class Started:
    """What `start` did.

    Attributes:
        copied: names of the files that were written.
        kept: names of those that were there and stay as they were.
        missing: why an exercise could not be copied.
    """

    copied: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def start(path: Path) -> Started:
    """Copy all exercises, a README and an empty record to `path`; nothing that is there is touched.

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
        raise ZooError(" ".join(["There is no exercise to copy.", *done.missing]))
    _make(path)
    texts[README] = readme(list(get_exercises().values()))
    texts[FILE_NAME] = "".join(f"{line}\n" for line in HEADER)
    for name, text in texts.items():
        new = files.write_new(path / name, text.encode("utf-8"))
        (done.copied if new else done.kept).append(name)
    return done


def readme(exercises: Sequence[Exercise]) -> str:
    """The page for the learner in the folder."""
    rows = "\n".join(f"{number}. `{one.file}`: {one.title}" for number, one in enumerate(exercises, start=1))
    return _TEXT.format(exercises=rows, progress=FILE_NAME)


def _make(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise ZooError(f"'{path}' is a file; expected the name of a folder, new or not.") from error
    except OSError as error:
        raise ZooError(f"The folder '{path}' cannot be made: {error.strerror or error}.") from error


def reset(folder: Folder, exercise: Exercise) -> Path | None:
    """Put a fresh copy of `exercise` into `folder`, and keep the file that was there under a free name.

    Returns:
        The name under which the old file is kept, or None if there was none, or it was as it is shipped.

    Raises:
        ZooError: the file cannot be read or written, or the template is not installed; then it is as it was.
    """
    fresh, file = exercise.template_text().encode("utf-8"), folder.file(exercise)
    try:
        old = file.read_bytes()
    except FileNotFoundError:
        old = None
    except OSError as error:
        raise ZooError(
            f"'{file}' cannot be read, so it was left as it is: {error.strerror or error}."
        ) from error
    if old == fresh:
        return None
    aside = None
    if old is not None:
        aside = next(name for name in files.free_name(file) if files.write_new(name, old))
    files.replace(file, fresh)
    return aside


def forget(folder: Folder, exercise: Exercise) -> None:
    """Take out of the record what is known of `exercise`. Raises ZooError if it cannot be written."""
    update(folder.path, exercise.name, lambda entry: Entry(more=entry.more))
