"""The names that platforms give to downloaded submissions, and the files that they put beside them.

- Moodle ("Download all submissions"): `Full Name_1234567_assignsubmission_file_/attention.py`, or without folders
  `Full Name_1234567_assignsubmission_file_attention.py`.
- Canvas ("Download Submissions"): `doejane_123_4567_attention.py`, `doejane_LATE_123_4567_attention-1.py`:
  name, user id, id of the attachment, name of the file, "-1" for a further attempt.
- Gradescope ("Export Submissions"): `submission_12345/attention.py` with `submission_metadata.yml` beside.
- GitHub Classroom (`gh classroom clone student-repos`): `homework-octocat/attention.py` with `.git`.
- nbgrader: `submitted/STUDENT/ASSIGNMENT/attention.py` with `timestamp.txt`.
- A folder per student, or all in one folder: `anna_attention.py`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import zlib
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

MOODLE = re.compile(
    r"^(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?P<kind>file|onlinetext)_?(?P<rest>.*)$", re.S
)
CANVAS = re.compile(r"^(?P<name>[^_]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<attachment>\d+)_(?P<rest>.+)$", re.S)
GRADESCOPE = re.compile(r"^submission_\d+$")
EXPORT = re.compile(r"^assignment_\d+_export$")  # what Gradescope calls the folder around all submissions
METADATA, TIMESTAMP = "submission_metadata.yml", "timestamp.txt"
_AGAIN = re.compile(r"^(?P<stem>.+?)(?:[-_ ]?\((?P<bracket>\d{1,4})\)|-(?P<dash>\d{1,4}))$", re.S)
_PAIR = re.compile(r"^(?P<indent> *)(?P<item>- )?:(?P<key>\w+):(?P<value>.*)$")
_ATTEMPT = re.compile(r"(?:attempt|try|submission|version|v)[-_ ]?(\d{1,4})$", re.I)
_GIT_S = 20.0


@dataclass(frozen=True)
class Owner:
    """Whose a file is, as its place says it.

    Attributes:
        name: the student's name, or what stands for it.
        layout: "moodle", "canvas", "gradescope", "github", "nbgrader", "folder" or "flat".
        ids: of platforms.
        email: the student's, or "".
        submitted_at: seconds since 1970; None: not known.
        time_source: where the time is from.
        marked_late: the platform says that it is late, but not when it came.
        commit: of git, or "".
    """

    name: str
    layout: str
    ids: dict[str, str] = field(default_factory=dict)
    email: str = ""
    submitted_at: float | None = None
    time_source: str = ""
    marked_late: bool = False
    commit: str = ""


def attempt_of(stem: str) -> tuple[str, int]:
    """A file's stem without the number that a platform or browser adds for a further copy, and that number."""
    match = _AGAIN.match(stem)
    return (match["stem"], int(match["bracket"] or match["dash"])) if match else (stem, 0)


def attempt_in(path: str) -> int:
    """The number of the attempt that a path names: in a folder ("attempt2") or behind the file's name; 0: none."""
    *folders, file = path.split("/")
    numbers = [int(match[1]) for match in map(_ATTEMPT.match, folders) if match]
    return max([attempt_of(file.removesuffix(".py"))[1], *numbers])


def read_metadata(text: str) -> dict[str, list[Owner]]:
    """The submitters of Gradescope's `submission_metadata.yml`, by folder.

    It is read line by line, for the few keys that matter; test results in it are skipped by their indent.
    """
    found: dict[str, list[Owner]] = {}
    folder, section, when = "", "", None
    people: list[dict[str, str]] = []

    def finish() -> None:
        if folder:
            found[folder] = [
                Owner(
                    one.get("name", ""),
                    "gradescope",
                    {"gradescope": one["sid"]} if one.get("sid") else {},
                    one.get("email", ""),
                    when,
                    "gradescope" if when is not None else "",
                )
                for one in people
            ]

    for line in text.splitlines():
        if line[:1] not in (" ", "-", "#", "") and line.rstrip().endswith(":"):
            finish()
            folder, section, when, people = _unquoted(line.rstrip()[:-1]), "", None, []
            continue
        match = _PAIR.match(line)
        if match is None:
            continue
        indent, key, value = len(match["indent"]), match["key"], _unquoted(match["value"].strip())
        if indent == 2 and not match["item"]:
            section = key
            if key == "created_at":
                when = parse_time(value)
        elif section == "submitters" and indent + len(match["item"] or "") == 4:
            if match["item"]:
                people.append({})
            if people:
                people[-1][key] = value
    finish()
    return found


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        quote, text = text[0], text[1:-1]
        return text.replace("''", "'") if quote == "'" else text.replace('\\"', '"')
    return "" if text in ("null", "~") else text


def parse_time(text: str) -> float | None:
    """Seconds since 1970 from a date and time as platforms write them; UTC where no zone is named. None: not one."""
    text = text.strip().replace(" UTC", "+00:00").replace("Z", "+00:00").replace(" +", "+")
    text = re.sub(r"(\.\d{1,6})\d*", lambda match: match[1].ljust(7, "0"), text)
    text = re.sub(r"([+-]\d\d)(\d\d)$", r"\1:\2", text)
    try:
        when = datetime.fromisoformat(text)
        return (when if when.tzinfo else when.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError):
        return None


class Clones:
    """Reads commits of clones. Runs no program with a clone's own settings, which may be a student's."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[str, float | None]] = {}

    def commit(self, folder: Path) -> tuple[str, float | None]:
        """The commit that is checked out in `folder`, and its time; "" and None where they cannot be read."""
        if folder not in self._read:
            name = _head(folder / ".git")
            self._read[folder] = name, _commit_time(folder / ".git", name) if name else None
        return self._read[folder]


def _small(path: Path, limit: int = 2**20) -> str:
    """The text of a small regular file, or ""."""
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > limit:
            return ""
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _head(git: Path) -> str:
    text = _small(git / "HEAD").strip()
    if text.startswith("ref: "):
        ref = text.removeprefix("ref: ").strip()
        if not re.fullmatch(r"refs/[\w./-]+", ref) or ".." in ref:
            return ""
        text = _small(git / ref).strip()
        for line in _small(git / "packed-refs").splitlines() if not text else ():
            name, _, packed = line.partition(" ")
            if packed == ref:
                text = name
    return text if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text) else ""


def _commit_time(git: Path, name: str) -> float | None:
    loose = git / "objects" / name[:2] / name[2:]
    try:
        if loose.is_file() and not loose.is_symlink():
            with loose.open("rb") as file:  # which may be huge
                data = zlib.decompressobj().decompress(file.read(2**20), 2**16)
        else:
            data = _packed(git, name)
    except (OSError, zlib.error, subprocess.SubprocessError):
        return None
    match = re.search(rb"^committer .*> (\d{1,11}) ", data, re.M)
    return float(match[1]) if match else None


def _packed(git: Path, name: str) -> bytes:
    """A commit out of a pack, read by git from an empty repository that borrows the clone's objects."""
    if shutil.which("git") is None:
        return b""
    quiet = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_LAZY_FETCH": "1"}
    quiet["GIT_ALLOC_LIMIT"] = "64m"  # a small pack may have a huge commit in it
    with tempfile.TemporaryDirectory() as empty:
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": empty, **quiet}
        subprocess.run(
            ["git", "init", "--quiet", "--bare", "--template=", empty],
            env=environment,
            check=True,
            capture_output=True,
            timeout=_GIT_S,
        )
        done = subprocess.run(
            ["git", "--git-dir", empty, "cat-file", "commit", name],
            env={**environment, "GIT_OBJECT_DIRECTORY": str((git / "objects").absolute())},
            check=False,
            capture_output=True,
            timeout=_GIT_S,
        )
    return done.stdout[: 2**16]
