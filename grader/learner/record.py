"""The record of a learner's progress: a small text file beside the exercises, one line an exercise.

    attention: tried; points 12/50; mistakes missing-scale; at MultiHeadAttention; hints MultiHeadAttention 2

A line, or a part of one, that means nothing here is kept as it is.
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
    "# What you have done of the exercises. `zoo grade` writes this file, `zoo progress` shows it.",
    "# Lines that are not of an exercise stay as they are.",
)
MAX_SIZE = 1 << 20  # bytes; a hundred times what all exercises need
PATIENCE = 10.0  # seconds to wait for another grade that is writing

State = Literal["new", "tried", "solved"]

_LINE = re.compile(r"(?P<name>[\w-]+): *(?P<state>new|tried|solved)(?P<rest>(?:;.*)?)\s*")
_HINT = re.compile(r"([\w-]+) (\d{1,4})")


@dataclass(frozen=True)
class Entry:
    """What is known of one exercise.

    Attributes:
        state: "new" (never graded as a whole), "tried" or "solved".
        points: of the last whole grade, or of the one that solved it: "12/50", or "".
        mistakes: ids of the mistakes named last.
        component: the function or class that failed first in the last grade, or "".
        hints: how many hints were shown, by component, and by the id of a mistake.
        advice: the hint of the first of `mistakes`, or "".
        more: parts of the line that mean nothing here.
    """

    state: State = "new"
    points: str = ""
    mistakes: tuple[str, ...] = ()
    component: str = ""
    hints: Mapping[str, int] = field(default_factory=dict)
    advice: str = ""
    more: tuple[str, ...] = ()

    def line(self, name: str) -> str:
        """The entry as the line of the exercise `name`."""
        hints = ", ".join(f"{of} {count}" for of, count in self.hints.items() if count)
        parts = [
            self.state,
            *(
                f"{word} {value}"
                for word, value in (("points", self.points), ("at", self.component))
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
    """The entry of a line; `rest` is what follows the state, from its semicolon on."""
    before, said, advice = rest.partition("; advice ")
    found: dict[str, str] = {}
    more = []
    for part in (one.strip() for one in before.split(";")[1:]):
        word, _, value = part.partition(" ")
        if word in ("points", "at", "mistakes", "hints") and value.strip() and word not in found:
            found[word] = value.strip()
        elif part:
            more.append(part)
    return Entry(
        state=next(one for one in get_args(State) if one == state),
        points=found.get("points", ""),
        mistakes=tuple(one.strip() for one in found.get("mistakes", "").split(",") if one.strip()),
        component=found.get("at", ""),
        hints={of: int(count) for of, count in _HINT.findall(found.get("hints", ""))},
        advice=advice.strip() if said else "",
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
        """What is known of the exercise `name`."""
        return self._entries[name][1] if name in self._entries else Entry()

    def empty(self) -> bool:
        """Whether nothing is known of any exercise."""
        return not self._entries

    def set(self, name: str, entry: Entry) -> None:
        """Put `entry` in place of what was known of the exercise `name`."""
        if entry == self.entry(name):
            return
        if name not in self._entries:
            self._lines.append("")
        number = self._entries[name][0] if name in self._entries else len(self._lines) - 1
        self._lines[number] = entry.line(name)
        self._entries[name] = number, entry

    def content(self) -> bytes:
        """The file. What was no text when it was read comes out as it was."""
        return "".join(f"{line}\n" for line in self._lines).encode("utf-8", "surrogateescape")


def read(folder: Path) -> Record:
    """The record in this folder; an empty one if there is none.

    Raises:
        ZooError: there is something called progress.txt that is not the file of a record.
    """
    content = _content(folder / FILE_NAME)
    return Record() if content is None else _parse(content)


def is_record(path: Path) -> bool:
    """Whether `path` is a file that has progress in it, and not somebody's file of the same name."""
    try:
        content = _content(path)
    except ZooError:
        return False
    return content is not None and (content.startswith(HEADER[0].encode()) or not _parse(content).empty())


def update(folder: Path, name: str, change: Callable[[Entry], Entry]) -> Entry:
    """Change what is known of one exercise, whole or not at all, also when others do so at the same time.

    Returns:
        The entry as it is now.

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
            f"'{path}' was not written: something else has held it for {PATIENCE:.0f} seconds."
        ) from error
    except (OSError, NotImplementedError) as error:
        raise ZooError(f"'{path}' cannot be written: {getattr(error, 'strerror', '') or error}.") from error


def _content(path: Path) -> bytes | None:
    """The file's content, or None if there is no file. Raises ZooError if it cannot be read."""
    try:
        if not path.exists():
            return None
        if not path.is_file():
            raise ZooError(f"'{path}' is no file, so progress cannot be kept there. Move it away.")
        if path.stat().st_size > MAX_SIZE:
            raise ZooError(
                f"'{path}' is too large for a progress file. Move it away; a new one is begun then."
            )
        return path.read_bytes()
    except OSError as error:
        raise ZooError(f"'{path}' cannot be read: {error.strerror or error}.") from error


def _parse(content: bytes) -> Record:
    text = content.decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    return Record(lines[:-1] if lines[-1] == "" else lines)
