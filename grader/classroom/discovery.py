"""Finds the submissions in a folder. Reads files; runs nothing, follows no link, imports no torch."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.catalog import Exercise
from grader.classroom.layouts import (
    CANVAS,
    GRADESCOPE,
    METADATA,
    MOODLE,
    TIMESTAMP,
    Clones,
    Owner,
    attempt_of,
    parse_time,
    read_metadata,
)
from grader.core.results import clean
from grader.run.run import MAX_SOURCE
from zoo.core.errors import ZooError

MAX_DEPTH = 12
_IGNORED_FOLDERS = frozenset(
    (".git", "__pycache__", "__MACOSX", ".ipynb_checkpoints", ".venv", "venv", ".vscode", ".idea")
)
_IGNORED_FILES = frozenset(
    (".DS_Store", "Thumbs.db", "desktop.ini", METADATA, TIMESTAMP, "progress.txt", ".gitignore")
)
_ARCHIVES = (".zip", ".tar", ".gz", ".tgz", ".rar", ".7z")
_GENERIC = frozenset(
    ("exercises", "src", "submission", "submissions", "submitted", "homework", "solution", "code")
)


@dataclass(frozen=True)
class Found:
    """One submission.

    Attributes:
        owner: whose it is, as its place says it.
        exercise: name of the exercise.
        path: in the folder, safe to print.
        sha256: of the content; of a file that is too large, of its size and its beginning.
        size: in bytes.
        source: its content, or None where it is too large to be graded.
    """

    owner: Owner
    exercise: str
    path: str
    sha256: str
    size: int
    source: bytes | None

    @property
    def layout(self) -> str:
        return self.owner.layout

    @property
    def submitted_at(self) -> float | None:
        return self.owner.submitted_at

    @property
    def time_source(self) -> str:
        return self.owner.time_source

    @property
    def marked_late(self) -> bool:
        return self.owner.marked_late

    @property
    def commit(self) -> str:
        return self.owner.commit


@dataclass(frozen=True)
class Discovery:
    """The submissions found in a folder.

    Attributes:
        submissions: in the order of their paths.
        unplaced: path and reason of every file that is no submission, except what programs leave (`__pycache__`).
    """

    submissions: tuple[Found, ...]
    unplaced: tuple[tuple[str, str], ...]

    def layouts(self) -> Mapping[str, int]:
        """Return how many submissions came in which layout."""
        return Counter(one.layout for one in self.submissions)


def discover(folder: Path, exercises: Mapping[str, Exercise], exercise: str = "") -> Discovery:
    """Find the submissions in a folder.

    Args:
        folder: of downloaded submissions.
        exercises: all exercises by name.
        exercise: the exercise that every Python file belongs to; "": the file's or its folder's name says it.

    Raises:
        ZooError: the folder cannot be read.
    """
    if not folder.is_dir():
        if folder.suffix.casefold() in _ARCHIVES and folder.is_file():
            raise ZooError(f"'{folder}' is an archive. Unpack it and name the folder.")
        raise ZooError(f"There is no folder '{folder}'.")
    return _Search(folder, exercises, exercise).run()


class _Search:
    def __init__(self, folder: Path, exercises: Mapping[str, Exercise], exercise: str) -> None:
        self._folder, self._exercises, self._exercise = folder, exercises, exercise
        self._unplaced: list[tuple[str, str]] = []
        self._metadata: dict[Path, dict[str, list[Owner]]] = {}
        self._clones = Clones()
        names = "|".join(sorted(map(re.escape, exercises), key=len, reverse=True))
        self._ends = re.compile(rf"^(?P<name>.+?)[-_ .]+(?P<exercise>{names})$", re.I | re.S)
        self._begins = re.compile(rf"^(?P<exercise>{names})[-_ .]+(?P<name>.+)$", re.I | re.S)
        self._prefix = self._common_prefix()

    def run(self) -> Discovery:
        found: list[Found] = []
        for path in self._files(self._folder, 0):
            try:
                found += self._place(path)
            except OSError as error:
                self._refuse(path, f"cannot be read: {error.strerror}")
        return Discovery(tuple(found), tuple(sorted(self._unplaced)))

    def _common_prefix(self) -> str:
        """Return what the names of all clones of GitHub Classroom begin with: "homework-"."""
        try:
            clones = [one.name for one in self._folder.iterdir() if (one / ".git").is_dir()]
        except OSError as error:
            raise ZooError(f"'{self._folder}' cannot be read: {error.strerror}.") from error
        first, last = (min(clones), max(clones)) if len(clones) > 1 else ("", "")
        common = first[
            : next((i for i in range(len(first)) if not last.startswith(first[: i + 1])), len(first))
        ]
        return common[: common.rfind("-") + 1]

    def _name(self, path: Path) -> str:
        """A path in the folder, safe to print and to store."""
        text = os.fsencode(path.relative_to(self._folder)).decode("utf-8", "backslashreplace")
        return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)

    def _refuse(self, path: Path, reason: str) -> None:
        self._unplaced.append((self._name(path), reason))

    def _files(self, folder: Path, depth: int) -> Iterator[Path]:
        """Regular files below, in order. Links are not followed, and named."""
        try:
            entries = sorted(os.scandir(folder), key=lambda one: os.fsencode(one.name))
        except OSError as error:
            self._refuse(folder, f"the folder cannot be read: {error.strerror}")
            return
        for one in entries:
            path = folder / one.name
            if one.is_symlink():
                self._refuse(path, "is a symbolic link, which is not followed")
            elif one.is_dir(follow_symlinks=False):
                if one.name in _IGNORED_FOLDERS:
                    continue
                if depth >= MAX_DEPTH:
                    self._refuse(path, f"is nested deeper than {MAX_DEPTH} folders")
                    continue
                yield from self._files(path, depth + 1)
            elif not one.is_file(follow_symlinks=False):
                self._refuse(path, "is not a regular file")
            elif one.name not in _IGNORED_FILES and not one.name.startswith("._"):
                yield path

    def _place(self, path: Path) -> list[Found]:
        """The submissions that a file is: one for each of its owners; none where it cannot be placed."""
        parts = path.relative_to(self._folder).parts
        moodle = next((match for match in map(MOODLE.match, parts) if match), None)
        if moodle is not None and moodle["kind"] == "onlinetext":
            self._refuse(path, "is online text of Moodle, not a Python file")
            return []
        file = parts[-1]
        canvas = CANVAS.match(file) if moodle is None else None
        if moodle is not None and moodle["rest"] and MOODLE.match(file):
            file = moodle["rest"]
        elif canvas is not None:
            file = canvas["rest"]
        suffix = Path(file).suffix.casefold()
        if suffix != ".py":
            kind = "an archive; unpack it first" if suffix in _ARCHIVES else "not a Python file"
            self._refuse(path, f"is {kind}")
            return []
        stem, _number = attempt_of(file[:-3])
        exercise, rest = self._exercise_of(stem, parts[:-1])
        if not exercise:
            self._refuse(path, "no exercise has such a name; rename it, or name the exercise with --exercise")
            return []
        if moodle is not None:
            owners = [Owner(moodle["name"].replace("_", " "), "moodle", {"moodle": moodle["id"]})]
        elif canvas is not None:
            owners = [
                Owner(canvas["name"], "canvas", {"canvas": canvas["user"]}, marked_late=bool(canvas["late"]))
            ]
        else:
            owners = self._owners(path, parts[:-1], rest)
        if not owners:
            self._refuse(path, "no name of a student in the file's name or its folders'")
            return []
        content = _read(path)
        if isinstance(content, str):
            self._refuse(path, content)
            return []
        size, digest, source, modified = content
        return [
            Found(_dated(owner, modified), exercise, self._name(path), digest, size, source)
            for owner in owners
        ]

    def _exercise_of(self, stem: str, folders: Sequence[str]) -> tuple[str, str]:
        """The exercise of a file, and what else its name says: the student's name in a flat folder."""
        low = stem.casefold()
        for pattern in (self._ends, self._begins):
            if match := pattern.match(stem):
                exercise = match["exercise"].casefold()
                if self._exercise in ("", exercise):
                    return exercise, match["name"]
        if self._exercise:
            return self._exercise, "" if low == self._exercise else stem
        if low in self._exercises:
            return low, ""
        folder = next((one.casefold() for one in reversed(folders) if one.casefold() in self._exercises), "")
        return folder, stem if folder else ""

    def _owners(self, path: Path, folders: Sequence[str], rest: str) -> list[Owner]:
        for depth, name in enumerate(folders):
            if GRADESCOPE.match(name):
                known = self._submitters(self._folder.joinpath(*folders[:depth])).get(name)
                return list(known or [Owner(name, "gradescope")])
        for depth in range(len(folders), 0, -1):
            clone = self._folder.joinpath(*folders[:depth])
            if (clone / ".git").is_dir() and not (clone / ".git").is_symlink():
                name = folders[depth - 1].removeprefix(self._prefix if depth == 1 else "")
                commit, when = self._clones.commit(clone)
                return [
                    Owner(name, "github", {"github": name}, "", when, "commit" if when else "", commit=commit)
                ]
        stamp = path.parent / TIMESTAMP
        if len(folders) >= 2 and stamp.is_file() and not stamp.is_symlink():
            with stamp.open(errors="replace") as file:
                when = parse_time(file.read(100))
            return [Owner(folders[-2], "nbgrader", {}, "", when, "timestamp.txt" if when is not None else "")]
        named = [
            one for one in folders if one.casefold() not in self._exercises and one.casefold() not in _GENERIC
        ]
        if named:
            return [Owner(named[0], "folder")]
        if rest:
            return [Owner(attempt_of(rest)[0], "flat")]
        return []

    def _submitters(self, folder: Path) -> dict[str, list[Owner]]:
        if folder not in self._metadata:
            file = folder / METADATA
            text = ""
            if file.is_file() and not file.is_symlink() and file.stat().st_size < 500 * 2**20:
                text = file.read_text(encoding="utf-8", errors="replace")
            self._metadata[folder] = read_metadata(text)
        return self._metadata[folder]


def _dated(owner: Owner, modified: float) -> Owner:
    """With the time of the file where nothing better is known. It orders attempts, and never makes a file late."""
    if owner.submitted_at is not None:
        return owner
    return replace(owner, submitted_at=modified, time_source="file")


def _read(path: Path) -> tuple[int, str, bytes | None, float] | str:
    """Size, hash, content and time of a regular file, or why it has none. Raises OSError."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "is a symbolic link, which is not followed"
        raise
    with os.fdopen(number, "rb") as file:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            return "is not a regular file"
        content = file.read(MAX_SOURCE + 1)
        digest = hashlib.sha256(content)
        if len(content) <= MAX_SOURCE:
            return len(content), digest.hexdigest(), content, status.st_mtime
        digest.update(f"{status.st_size} bytes".encode())
        return status.st_size, digest.hexdigest(), None, status.st_mtime


def describe(found: Discovery) -> str:
    """Return what was found, in one sentence."""
    if not found.submissions:
        return "No submission was found."
    layouts = ", ".join(f"{count} {_LAYOUTS[layout]}" for layout, count in sorted(found.layouts().items()))
    students = len({(one.owner.name, tuple(one.owner.ids.items())) for one in found.submissions})
    exercises = len({one.exercise for one in found.submissions})
    return clean(
        f"Found {len(found.submissions)} submissions of {students} students for {exercises} "
        f"exercise{'s' * (exercises > 1)} ({layouts})."
    )


_LAYOUTS = {
    "moodle": "from Moodle",
    "canvas": "from Canvas",
    "gradescope": "from Gradescope",
    "github": "from GitHub",
    "nbgrader": "from nbgrader",
    "folder": "in one folder per student",
    "flat": "named after the student",
}
