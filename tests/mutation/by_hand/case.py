"""A mistake written by hand: a right file, what replaces some of its text, and which lines are wrong then."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from tests.grader.right import right_files


@dataclass(frozen=True)
class Case:
    """One mistake.

    Attributes:
        title: of the right file that is changed.
        what: is wrong, in the words of who wrote it.
        changes: texts of the right file, and what replaces each.
        fragments: each place where one begins in the wrong file is a wrong line; none: the lines that differ are.
    """

    exercise: str
    title: str
    what: str
    changes: tuple[tuple[str, str], ...]
    fragments: tuple[str, ...] = ()

    def texts(self) -> tuple[str, str]:
        """The right file and the wrong one. Raises ValueError if a text is not there, or more than once."""
        right = wrong = right_files(self.exercise)[self.title]
        for old, new in self.changes:
            if right.count(old) != 1 or wrong.count(old) != 1:
                raise ValueError(f"{self.exercise}: {self.what}: {old!r} is not there just once")
            wrong = wrong.replace(old, new)
        return right, wrong

    def wrong_lines(self) -> set[int]:
        """Numbers of the wrong lines of the wrong file. Raises ValueError if a fragment is not there."""
        right, wrong = self.texts()
        return _lines_of(self.fragments, wrong) if self.fragments else _differing(right, wrong)


def case(
    exercise: str, title: str, what: str, *changes: tuple[str, str], wrong: tuple[str, ...] = ()
) -> Case:
    """A case, written with fewer brackets."""
    return Case(exercise, title, what, changes, wrong)


def _lines_of(fragments: tuple[str, ...], text: str) -> set[int]:
    """The lines in which fragments begin."""
    lines: set[int] = set()
    for fragment in fragments:
        before = text.split(fragment)[:-1]
        if not before:
            raise ValueError(f"{fragment!r} is not in the wrong file")
        places = [fragment.join(before[:count]) for count in range(1, len(before) + 1)]
        lines |= {place.count("\n") + 1 for place in places}
    return lines


def _differing(right: str, wrong: str) -> set[int]:
    """The lines that are new; where lines are gone, the one before and the one after."""
    lines: set[int] = set()
    old, new = right.splitlines(), wrong.splitlines()
    for tag, _, _, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "delete":
            lines |= {start, start + 1}
        elif tag != "equal":
            lines |= set(range(start + 1, end + 1))
    return {line for line in lines if 0 < line <= len(new) and new[line - 1].strip()}
