"""Hints, one level at a time: where the last grade went wrong, then the mistake, then the component that failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from grader.catalog import Exercise
from grader.learner.record import Entry

PLACE = "place"


@dataclass(frozen=True)
class Hint:
    """One hint.

    Attributes:
        about: `PLACE`, the id of a mistake, or the name of a component.
        level: 1 for the gentlest on this subject.
        levels: how many there are.
        text: the hint itself.
    """

    about: str
    level: int
    levels: int
    text: str


def all_hints(exercise: Exercise, entry: Entry) -> list[Hint]:
    """All hints in the order in which they are shown.

    First the function that the last grade found wrong, then its line. Then that of the mistake named last, those of
    the component that failed, from gentle to plain, and those of the others in the order of the exercise.

    Raises:
        PluginError: the exercise's hints are not installed.
    """
    given = exercise.all_hints()
    names = [one for one in (entry.component, *exercise.components) if one in given]
    found = _of(PLACE, place_hints(entry))
    found += [Hint(entry.mistakes[0], 1, 1, entry.advice)] if entry.mistakes and entry.advice else []
    for name in dict.fromkeys(names):
        found += _of(name, given[name])
    return found


def place_hints(entry: Entry) -> list[str]:
    """The function, then the line in it, that the last grade found wrong."""
    line, _, region = entry.place.partition(" ")
    if not line.isdecimal():
        return []
    inside = [f"Look at {region}: that is where the last grade found the mistake."] if region else []
    return [*inside, f"Look at line {line} of the file as you graded it last. Is its value what you expect?"]


def _of(about: str, texts: Sequence[str]) -> list[Hint]:
    return [Hint(about, level, len(texts), text) for level, text in enumerate(texts, start=1)]


def next_hint(hints: Sequence[Hint], entry: Entry) -> Hint | None:
    """The first of `hints` that was not shown yet, or None if all were."""
    return next((one for one in hints if one.level > entry.hints.get(one.about, 0)), None)


def shown(entry: Entry, *hints: Hint) -> Entry:
    """The entry once these hints were shown."""
    levels = dict(entry.hints)
    for one in hints:
        levels[one.about] = max(levels.get(one.about, 0), one.level)
    return replace(entry, hints=levels)
