"""Names of students for what is shown, and other names where none may be shown."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import partial

from grader.classroom.gradebook import Gradebook, Row
from grader.classroom.roster import Person

_SHORTEST = 3  # letters of a name that is looked for in texts
_SHORTEST_NUMBER = 7  # digits of an id: 10000 is a number of the paper


class Names:
    """The students of a gradebook, by their number in it.

    Args:
        book: the gradebook.
        anonymous: give each student another name: always the same one in a gradebook, and none that can be looked up.
    """

    def __init__(self, book: Gradebook, *, anonymous: bool = False) -> None:
        self.anonymous = anonymous
        self._book = book
        real = {row["id"]: _person(row) for row in book.all("SELECT * FROM students ORDER BY key")}
        self.people = {number: _masked(book, one) for number, one in real.items()} if anonymous else real
        if anonymous:
            self.people = dict(sorted(self.people.items(), key=lambda pair: pair[1].key))
        self._called = Counter(one.name for one in self.people.values())
        self._hidden = _hidden(real, self.people) if anonymous else []

    def __getitem__(self, student: int) -> Person:
        return self.people[student]

    def find(self, text: str) -> int:
        """The number of the student with this key, email, id, or part of a name, masked or not.

        Raises:
            ZooError: there is none, or there are several.
        """
        masks = {number: one.key for number, one in self.people.items()} if self.anonymous else None
        return int(self._book.find_student(text, masks)["id"])

    def label(self, student: int) -> str:
        """The name, with the key where several are called so; the key of a student without a name."""
        person = self.people[student]
        if person.name and self._called[person.name] > 1:
            return f"{person.name} ({person.key})"
        return person.name or person.key

    def path(self, path: str) -> str:
        """The path of a submission, which has names in it: nothing where these are to be hidden."""
        return "" if self.anonymous else path

    def hide(self, text: str) -> str:
        """A text that a student or an instructor wrote, without the names, ids and emails that the gradebook knows.

        Names that are written in another way are not found. The text comes back in NFC where names are hidden.
        """
        text = _composed(text) if self._hidden else text
        for pattern, masks in self._hidden:
            text = pattern.sub(partial(_masked_word, masks), text)
        return text

    def files(self) -> Mapping[int, str]:
        """A file name for each student: safe on every system, and different in more than the case of its letters."""
        found: dict[int, str] = {}
        for number, person in self.people.items():
            name = file_name(person.ids.get("gradescope") or person.key)
            if name.casefold() in {one.casefold() for one in found.values()}:
                name = f"{name}-{number}"
            found[number] = name
        return found


def _person(row: Row) -> Person:
    ids = json.loads(row["ids"])
    return Person(row["key"], row["name"], row["email"], row["section"], ids, bool(row["in_roster"]))


def _masked(book: Gradebook, person: Person) -> Person:
    digest = hashlib.sha256(f"{book.setting('salt')} {person.key}".encode()).hexdigest()
    name = f"student-{digest[:8]}"
    return Person(name, name, "", "", {}, person.in_roster)


def _composed(text: str) -> str:
    """A text in NFC: macOS writes a letter and its accent as two characters (NFD), other systems as one."""
    return unicodedata.normalize("NFC", text)


def _folded(text: str) -> str:
    """A text without case, where patterns that ignore it also take `İ` and `ı` for an i."""
    return _composed(text.casefold().replace("i\u0307", "i").replace("ı", "i"))


def _masked_word(masks: Mapping[str, str], match: re.Match[str]) -> str:
    return masks[_folded(match[0])]


def _hidden(
    real: Mapping[int, Person], masked: Mapping[int, Person]
) -> list[tuple[re.Pattern[str], dict[str, str]]]:
    """Patterns of what gives a student away, and what is written in place of each match."""
    whole: dict[str, str] = {}
    parts: dict[str, str] = {}  # as they are written: `max` is a function, Max is a student
    spelled: set[str] = set()
    for number, person in real.items():
        mask = masked[number].key
        known = {person.name, person.key, person.key.partition(":")[2], person.email, *person.ids.values()}
        for one in map(_composed, known | {person.email.partition("@")[0]}):
            if len(one) >= _SHORTEST and not (one.isdigit() and len(one) < _SHORTEST_NUMBER):
                whole.setdefault(_folded(one), mask)
        for one in _composed(person.name).split():
            if len(one) >= _SHORTEST:
                parts.setdefault(_folded(one), mask)
                spelled |= {one, _composed(one.upper())}
    found = []
    for words, names, flags in ((whole, whole, re.IGNORECASE), (spelled, parts, re.RegexFlag(0))):
        if words:
            listed = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
            found.append((re.compile(rf"(?<![^\W_])(?:{listed})(?![^\W_])", flags), names))
    return found


def file_name(text: str) -> str:
    """A name for a file, whatever the text: letters, digits, and a hash where something was left out."""
    plain = re.sub(r"[^\w@.-]+", "_", text).strip("._-")[:80]
    return plain if plain == text else f"{plain or 'student'}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
