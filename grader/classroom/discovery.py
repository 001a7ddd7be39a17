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
    EXPORT,
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
MAX_METADATA = 32 * 2**20  # that of 500 students has a few MB
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
        notes: on files in a student's folder that something else in it would give to somebody else.
    """

    submissions: tuple[Found, ...]
    unplaced: tuple[tuple[str, str], ...]
    notes: tuple[str, ...] = ()

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
        self._notes: list[str] = []
        self._downloads: frozenset[tuple[str, ...]] = frozenset()
        self._metadata: dict[Path, dict[str, list[Owner]]] = {}
        self._clones = Clones()
        names = "|".join(sorted(map(re.escape, exercises), key=len, reverse=True))
        self._ends = re.compile(rf"^(?P<name>.+?)[-_ .]+(?P<exercise>{names})$", re.I | re.S)
        self._begins = re.compile(rf"^(?P<exercise>{names})[-_ .]+(?P<name>.+)$", re.I | re.S)
        self._prefix = self._common_prefix()

    def run(self) -> Discovery:
        found: list[Found] = []
        files = list(self._files(self._folder, 0))
        self._downloads = self._find_downloads(files)
        for path in files:
            try:
                found += self._place(path)
            except OSError as error:
                self._refuse(path, f"cannot be read: {error.strerror}")
        return Discovery(tuple(found), tuple(sorted(self._unplaced)), tuple(self._notes))

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
        at = self._owner_at(parts)
        file, alone = parts[-1], at == len(parts) - 1
        moodle = MOODLE.match(parts[at])
        if moodle is not None and moodle["kind"] == "onlinetext":
            self._refuse(path, "is online text of Moodle, not a Python file")
            return []
        canvas = CANVAS.match(file) if alone and moodle is None else None
        if moodle is not None and alone:
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
            owners = self._owners(parts, at, rest)
        if not owners:
            self._refuse(path, "no name of a student in the file's name or its folders'")
            return []
        content = _read(path)
        if isinstance(content, str):
            self._refuse(path, content)
            return []
        size, digest, source, modified = content
        inner = range(at + 1, len(parts))
        if any(self._by_platform(parts, one) or self._by_program(parts, one) for one in inner):
            outer = self._name(self._folder.joinpath(*parts[: at + 1]))
            self._notes.append(
                f"'{self._name(path)}' belongs to '{outer}': the outermost name decides whose a file is."
            )
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

    def _owner_at(self, parts: Sequence[str]) -> int:
        """The place in a path of the name that decides whose the file is: the outermost that is a student's.

        What is below it is the student's own, and nothing there is believed.
        """
        at = self._skip(parts, 0)
        return self._skip(parts, at + 1) if tuple(parts[: at + 1]) in self._downloads else at

    def _skip(self, parts: Sequence[str], at: int) -> int:
        """The place of the first name from `at` that is not the name of an exercise or of any submissions."""
        while at < len(parts) - 1:
            low = parts[at].casefold()
            if low not in self._exercises and low not in _GENERIC and not EXPORT.match(low):
                break
            at += 1
        return at

    def _find_downloads(self, files: Sequence[Path]) -> frozenset[tuple[str, ...]]:
        """The outermost folders, if each is a whole download of a platform ("week3") and no student's.

        One student can make a folder look so, but not those of the others.
        """
        inside: dict[tuple[str, ...], dict[tuple[str, ...], tuple[bool, bool]]] = {}
        for path in files:
            parts = path.relative_to(self._folder).parts
            if path.suffix.casefold() != ".py":
                continue
            at = self._skip(parts, 0)
            if at == len(parts) - 1 or self._by_platform(parts, at) or self._by_program(parts, at):
                return frozenset()
            below = self._skip(parts, at + 1)
            made = self._by_platform(parts, below), self._by_program(parts, below)
            inside.setdefault(parts[: at + 1], {})[parts[: below + 1]] = made
        several = sum(map(len, inside.values())) > 1
        if several and all(
            all(platform or (program and len(one) > 1) for platform, program in one.values())
            for one in inside.values()
        ):
            return frozenset(inside)
        return frozenset()

    def _by_platform(self, parts: Sequence[str], at: int) -> bool:
        """Whether a name in a path looks like one that a platform gave."""
        if at == len(parts) - 1 and CANVAS.match(parts[at]):
            return True
        metadata = self._folder.joinpath(*parts[:at], METADATA)
        return bool(
            MOODLE.match(parts[at]) or (GRADESCOPE.match(parts[at]) and stat.S_ISREG(_mode(metadata)))
        )

    def _by_program(self, parts: Sequence[str], at: int) -> bool:
        """Whether a folder in a path is a clone, or a student's of nbgrader; students hand in such, too."""
        return at < len(parts) - 1 and (
            _is_clone(self._folder.joinpath(*parts[: at + 1])) or self._stamp(parts, at) is not None
        )

    def _stamp(self, parts: Sequence[str], at: int) -> Path | None:
        """nbgrader's file with the time, in the assignment's folder in the student's."""
        stamp = self._folder.joinpath(*parts[: at + 2], TIMESTAMP)
        return stamp if at + 2 < len(parts) and stat.S_ISREG(_mode(stamp)) else None

    def _owners(self, parts: Sequence[str], at: int, rest: str) -> list[Owner]:
        if at == len(parts) - 1:
            return [Owner(attempt_of(rest)[0], "flat")] if rest else []
        name, folder = parts[at], self._folder.joinpath(*parts[: at + 1])
        if GRADESCOPE.match(name):
            return list(self._submitters(folder.parent).get(name) or [Owner(name, "gradescope")])
        if _is_clone(folder):
            name = name.removeprefix("" if at else self._prefix)
            commit, when = self._clones.commit(folder)
            return [
                Owner(name, "github", {"github": name}, "", when, "commit" if when else "", commit=commit)
            ]
        stamp = self._stamp(parts, at)
        if stamp is not None:
            with stamp.open(errors="replace") as file:
                when = parse_time(file.read(100))
            return [Owner(name, "nbgrader", {}, "", when, "timestamp.txt" if when is not None else "")]
        return [Owner(name, "folder")]

    def _submitters(self, folder: Path) -> dict[str, list[Owner]]:
        if folder not in self._metadata:
            file = folder / METADATA
            text = b""
            if stat.S_ISREG(_mode(file)):
                with file.open("rb") as opened:
                    text = opened.read(MAX_METADATA + 1)
            if len(text) > MAX_METADATA:
                self._refuse(file, f"has more than {MAX_METADATA // 2**20} MB, so no student is read from it")
                text = b""
            self._metadata[folder] = read_metadata(text.decode("utf-8", "replace"))
        return self._metadata[folder]


def _is_clone(folder: Path) -> bool:
    return stat.S_ISDIR(_mode(folder / ".git"))


def _mode(path: Path) -> int:
    """What a path is, a link for itself; 0 where nothing can be found out."""
    try:
        return path.lstat().st_mode
    except OSError:
        return 0


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
