"""The record of a learner's progress: a small text file beside the exercises, one line per exercise.

    attention: tried; points 12/50; at MultiHeadAttention; place 14 attention_weights; mistakes missing-scale

Lines and parts of lines that are not recognised are kept unchanged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from grader.learner import files
from zoo.core.errors import ZooError

FILE_NAME = "progress.txt"
HEADER = (
    "# Your progress in the exercises. `zoo grade` updates this file, `zoo progress` shows it.",
    "# Lines that do not name an exercise are kept unchanged.",
)
_BEGINNINGS = (HEADER[0].encode(), b"# What you have done of the exercises.")  # the second: older files
MAX_SIZE = 1 << 20  # bytes; a hundred times what all exercises need
PATIENCE = 10.0  # seconds to wait for another grade that is writing

State = Literal["new", "tried", "solved"]

_LINE = re.compile(r"(?P<name>[\w-]+): *(?P<state>new|tried|solved)(?P<rest>(?:;.*)?)\s*")
_HINT = re.compile(r"([\w-]+) (\d{1,4})")


@dataclass(frozen=True)
class Entry:
    """The recorded progress in one exercise.

    Attributes:
        state: "new" (never graded), "tried" or "solved".
        points: of the last whole grade, or of the one that solved it: "12/50"; "" if all left tests out.
        mistakes: ids of the mistakes named last.
        component: the function or class that failed first in the last grade, or "".
        hints: how many hints were shown, by component, by the id of a mistake, and under "place".
        advice: the hint of the first of `mistakes`, or "".
        more: parts of the line that are not recognised.
        place: the line that was found wrong in the last grade, and its function ("14 attention_weights"), or "".
    """

    state: State = "new"
    points: str = ""
    mistakes: tuple[str, ...] = ()
    component: str = ""
    hints: Mapping[str, int] = field(default_factory=dict)
    advice: str = ""
    more: tuple[str, ...] = ()
    place: str = ""

    def line(self, name: str) -> str:
        """Return the line of the exercise `name`."""
        hints = ", ".join(f"{of} {count}" for of, count in self.hints.items() if count)
        parts = [
            self.state,
            *(
                f"{word} {value}"
                for word, value in (("points", self.points), ("at", self.component), ("place", self.place))
                if value
            ),
            *([f"mistakes {', '.join(self.mistakes)}"] if self.mistakes else []),
            *([f"hints {hints}"] if hints else []),
            *self.more,
            *(
                [f"advice {' '.join(self.advice.split())}"] if self.advice else []
            ),  # last: may hold a semicolon
        ]
        return f"{name}: {'; '.join(parts)}"


def _entry(state: str, rest: str) -> Entry:
    """Parse the entry of a line; `rest` is what follows the state, from its semicolon on."""
    before, separator, advice = rest.partition("; advice ")
    found: dict[str, str] = {}
    more = []
    for part in (one.strip() for one in before.split(";")[1:]):
        word, _, value = part.partition(" ")
        if word in ("points", "at", "place", "mistakes", "hints") and value.strip() and word not in found:
            found[word] = value.strip()
        elif part:
            more.append(part)
    return Entry(
        state=next(one for one in get_args(State) if one == state),
        points=found.get("points", ""),
        mistakes=tuple(one.strip() for one in found.get("mistakes", "").split(",") if one.strip()),
        component=found.get("at", ""),
        place=found.get("place", ""),
        hints={of: int(count) for of, count in _HINT.findall(found.get("hints", ""))},
        advice=advice.strip() if separator else "",
        more=tuple(more),
    )


class Record:
    """The progress file, read.

    Args:
        lines: of the file, without their ends.
    """

    def __init__(self, lines: Sequence[str] = HEADER) -> None:
        self._lines = list(lines)
        self._entries: dict[str, tuple[int, Entry]] = {}
        for number, line in enumerate(self._lines):
            match = _LINE.fullmatch(line)
            if (
                match is not None and match["name"] not in self._entries
            ):  # a second line of the same name is kept
                self._entries[match["name"]] = number, _entry(match["state"], match["rest"])

    def entry(self, name: str) -> Entry:
        """Return the entry of the exercise `name`."""
        return self._entries[name][1] if name in self._entries else Entry()

    def empty(self) -> bool:
        """Return whether there are no entries."""
        return not self._entries

    def set(self, name: str, entry: Entry) -> None:
        """Replace the entry of the exercise `name`."""
        if entry == self.entry(name):
            return
        if name not in self._entries:
            self._lines.append("")
        number = self._entries[name][0] if name in self._entries else len(self._lines) - 1
        self._lines[number] = entry.line(name)
        self._entries[name] = number, entry

    def content(self) -> bytes:
        """Return the content of the file. Bytes that were not valid UTF-8 are kept."""
        return "".join(f"{line}\n" for line in self._lines).encode("utf-8", "surrogateescape")


def read(folder: Path) -> Record:
    """Read the progress file of this folder; an empty record if there is none.

    Raises:
        ZooError: progress.txt is not a regular file, too large, or unreadable.
    """
    content = _content(folder / FILE_NAME)
    return Record() if content is None else _parse(content)


def is_record(path: Path) -> bool:
    """Return whether `path` is a progress file, and not an unrelated file of the same name."""
    try:
        content = _content(path)
    except ZooError:
        return False
    return content is not None and (content.startswith(_BEGINNINGS) or not _parse(content).empty())


def is_damaged(path: Path) -> bool:
    """Return whether `path` is what may be left of a progress file: no text, or at most a part of its first line."""
    try:
        content = _content(path)
    except ZooError:
        return False
    if content is None or is_record(path):
        return False
    text = content.decode("utf-8", "replace")
    return "\0" in text or "\ufffd" in text or any(one.startswith(content) for one in _BEGINNINGS)


def begin(folder: Path) -> bool:
    """Create an empty progress file; return False if there is something of that name already.

    Raises:
        ZooError: it cannot be written.
    """
    return files.write_new(folder / FILE_NAME, Record().content())


def update(folder: Path, name: str, change: Callable[[Entry], Entry]) -> Entry:
    """Change the entry of one exercise, atomically, also when other processes do so at the same time.

    Returns:
        The new entry.

    Raises:
        ZooError: the file cannot be read or written.
    """
    import filelock

    path = Path(os.path.realpath(folder / FILE_NAME))  # a link stays one
    lock = filelock.FileLock(path.with_name(f".{FILE_NAME}.lock"), timeout=PATIENCE)
    try:
        with lock:
            content = _content(path)
            record = Record() if content is None else _parse(content)
            record.set(name, change(record.entry(name)))
            if record.content() != content:
                files.replace(path, record.content())
            return record.entry(name)
    except filelock.Timeout as error:
        raise ZooError(
            f"'{path}' was not written: another process has locked it for {PATIENCE:.0f} seconds."
        ) from error
    except (OSError, NotImplementedError) as error:
        raise ZooError(f"'{path}' cannot be written: {getattr(error, 'strerror', '') or error}.") from error


def _content(path: Path) -> bytes | None:
    """Return the file's content, or None if there is no file. Raises ZooError if it cannot be read."""
    try:
        if not path.exists():
            return None
        if not path.is_file():
            raise ZooError(
                f"'{path}' is not a regular file, so progress cannot be saved there. Move it away."
            )
        if path.stat().st_size > MAX_SIZE:
            raise ZooError(
                f"'{path}' is too large for a progress file. Move it away and run `zoo start` again."
            )
        return path.read_bytes()
    except OSError as error:
        raise ZooError(f"'{path}' cannot be read: {error.strerror or error}.") from error


def _parse(content: bytes) -> Record:
    text = content.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    return Record(lines[:-1] if lines[-1] == "" else lines)
