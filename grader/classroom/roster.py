"""Rosters: CSV files with a class's students, as people and platforms write them, and whose a submission is."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.core.results import clean
from zoo.core.errors import ZooError

MAX_BYTES = 50 * 2**20
_COLUMNS = {
    "name": ("student", "full name", "name", "student name", "name with pronouns"),
    "first": ("first name", "first_name", "given name", "firstname"),
    "last": ("last name", "last_name", "surname", "family name", "lastname"),
    "email": ("email", "email address", "e-mail", "mail"),
    "section": ("section", "sections", "group", "groups"),
    "canvas": ("id", "canvas id", "user id"),
    "sis": ("sis user id", "sis id", "id number", "student id", "student_id", "matriculation number"),
    "login": ("sis login id", "login id", "username", "login", "user name"),
    "moodle": ("identifier", "participant"),
    "gradescope": ("sid", "student number"),
    "github": ("github_username", "github username", "github"),
}
_POINTS = "points possible"  # a row of Canvas, with the largest number of points
_NOT_PEOPLE = (_POINTS, "student, test", "test student")


@dataclass(frozen=True)
class Person:
    """A student.

    Attributes:
        key: what identifies the student in the gradebook.
        name, email, section: as the roster or the platform has them.
        ids: the student's ids by platform: canvas, sis, login, moodle, gradescope, github.
        in_roster: whether a roster has the student.
    """

    key: str
    name: str = ""
    email: str = ""
    section: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    in_roster: bool = False


@dataclass(frozen=True)
class Roster:
    """The students of a class, and what was odd about the file."""

    people: tuple[Person, ...] = ()
    notes: tuple[str, ...] = ()


def decode(data: bytes) -> tuple[str, str]:
    """Text from bytes of an unknown encoding; the text and the encoding's name."""
    for mark, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(mark):
            return data.decode(encoding, "replace"), encoding
    head = data[:2_000]
    if head.count(0) > len(head) // 4:  # UTF-16 without a mark: every second byte of English text is 0
        encoding = "utf-16-be" if head[0::2].count(0) > head[1::2].count(0) else "utf-16-le"
        return data.decode(encoding, "replace"), encoding
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    try:
        return data.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"


def read_table(path: Path) -> tuple[list[list[str]], str]:
    """The rows of a CSV file and its encoding. Raises ZooError if it cannot be read."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ZooError(
                f"'{path}' has more than {MAX_BYTES // 2**20} MB; expected a CSV file of students."
            )
        data = path.read_bytes()
    except OSError as error:
        raise ZooError(f"'{path}' cannot be read: {error.strerror}.") from error
    text, encoding = decode(data)
    text = text.replace("\0", "")
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise ZooError(f"'{path}' is not a CSV file: {error}.") from error
    return [row for row in rows if any(cell.strip() for cell in row)], encoding


def read_roster(path: Path) -> Roster:
    """The students in a CSV file with a header.

    Raises:
        ZooError: it cannot be read, or no column names or identifies students.
    """
    rows, encoding = read_table(path)
    if not rows:
        raise ZooError(f"The roster '{path}' is empty; expected a CSV file with a header.")
    columns = _columns(rows[0])
    if not columns.keys() - {"section"}:
        raise ZooError(
            f"The roster '{path}' has no column that identifies students. Its header has: "
            f"{', '.join(clean(cell, 40) for cell in rows[0][:12])}. Known columns: Student or Name, First name and "
            "Last name, Email, ID, SIS User ID, SIS Login ID or Username, Identifier (Moodle), SID (Gradescope), "
            "github_username."
        )
    notes = [] if encoding in ("utf-8", "utf-8-sig") else [f"The roster was read as {encoding}."]
    people: dict[str, Person] = {}
    seen: dict[tuple[str, str], str] = {}
    for number, row in enumerate(rows[1:], 2):
        person = _person({name: row[i] for name, i in columns.items() if i < len(row)})
        if person is None:
            continue
        known = [seen[one] for one in _identities(person) if one in seen]
        if known:
            before = people[known[0]]
            if _plain(before.name) == _plain(person.name):
                notes.append(f"Row {number}: {person.name or person.key} is there twice; taken once.")
            else:
                notes.append(
                    f"Row {number}: {person.name or person.key} has an id or email of {before.name or before.key}; "
                    "taken as another student, matched by name only."
                )
                person = replace(person, key=_free(f"name:{_plain(person.name)}", people), email="", ids={})
                people[person.key] = person
            continue
        if any(person.name and _plain(one.name) == _plain(person.name) for one in people.values()):
            notes.append(
                f"Row {number}: several students are called {person.name}; only ids tell them apart."
            )
        person = replace(person, key=_free(person.key, people))
        people[person.key] = person
        seen.update(dict.fromkeys(_identities(person), person.key))
    return Roster(tuple(people.values()), tuple(notes))


def _columns(header: Sequence[str]) -> dict[str, int]:
    names = [" ".join(cell.replace("\ufeff", "").split()).casefold() for cell in header]
    found = {}
    for what, spellings in _COLUMNS.items():
        place = next((names.index(one) for one in spellings if one in names), None)
        if place is not None:
            found[what] = place
    return found


def _person(cells: dict[str, str]) -> Person | None:
    cells = {what: " ".join(clean(cell, 200).split()) for what, cell in cells.items()}
    name = cells.get("name", "")
    if "," in name:  # "Doe, Jane"
        last, _, first = name.partition(",")
        name = f"{first.strip()} {last.strip()}".strip()
    if not name:
        name = f"{cells.get('first', '')} {cells.get('last', '')}".strip()
    if name.casefold().lstrip() in _NOT_PEOPLE or _POINTS in cells.get("name", "").casefold():
        return None
    ids = {
        what: cells[what]
        for what in ("canvas", "sis", "login", "moodle", "gradescope", "github")
        if cells.get(what)
    }
    if "moodle" in ids:
        ids["moodle"] = re.sub(r"^\D+", "", ids["moodle"]) or ids["moodle"]
    email = cells.get("email", "")
    key = email or next((ids[one] for one in ("login", "sis", "gradescope", "github") if one in ids), "")
    key = key or next((f"{what}:{one}" for what, one in ids.items()), "") or f"name:{_plain(name)}"
    if not (name or email or ids):
        return None
    return Person(key, name, email, cells.get("section", ""), ids, True)


def _identities(person: Person) -> Iterable[tuple[str, str]]:
    if person.email:
        yield "email", person.email.casefold()
    for what, one in person.ids.items():
        yield what, one.casefold()


def _free(key: str, taken: Iterable[str]) -> str:
    taken, number, free = set(taken), 2, key
    while free in taken:
        free, number = f"{key} ({number})", number + 1
    return free


def _plain(text: str) -> str:
    """Letters and digits alone, without accents, in small letters."""
    flat = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return "".join(c for c in flat.casefold() if c.isalnum())


_SIMPLE = re.compile(r"(?! )[\w .-]{1,200}(?<! )")  # the first student of such a name has the letters as key


def _spelled(name: str) -> str:
    """The key of a student whom only a name is known of, and no other spelling of it; safe to print."""
    return "spelled:" + "".join(c if c.isprintable() and c != "\\" else repr(c)[1:-1] for c in name)


class Matcher:
    """Finds the student of a submission.

    Args:
        people: of the roster, and those known from before.
        before: keys of students and the paths of files that they are known to have handed in.
    """

    def __init__(self, people: Iterable[Person], before: Iterable[tuple[str, str]] = ()) -> None:
        self.people = list(people)
        self._before = frozenset(before)
        self._called: dict[str, str] = {}  # by key, the name that a student was first found by
        self._by_id: dict[tuple[str, str], Person] = {}
        self._by_name: dict[str, list[Person]] = {}
        for person in self.people:
            self._add(person)

    def _add(self, person: Person) -> None:
        for identity in _identities(person):
            self._by_id.setdefault(identity, person)
        words = person.name.split()
        spellings = {_plain(" ".join(words[i:] + words[:i])) for i in range(len(words))}
        spellings |= {
            _plain(person.key),
            _plain(person.email.partition("@")[0]),
            _plain(person.ids.get("login", "")),
        }
        for spelling in spellings - {""}:
            self._by_name.setdefault(spelling, []).append(person)

    def _same(self, person: Person, name: str, path: str) -> bool:
        """Whether a student is the one of this very name; or of another spelling, as names were once matched."""
        if person.key.startswith("spelled:"):
            return person.key == _spelled(name)
        old = bool(_SIMPLE.fullmatch(name)) and (person.key, path) in self._before
        return old or unicodedata.normalize("NFC", person.name) == name

    def match(self, name: str, ids: dict[str, str], email: str = "", path: str = "") -> tuple[Person, str]:
        """The student with these ids or this name, a new one where there is none; and a note, or "".

        An id decides before an email, and an email before a name. Students of the roster are found by another spelling
        of their name, too, all others by the same one. A name that several students have matches none.
        """
        name = unicodedata.normalize("NFC", name)
        for what, one in [*ids.items(), ("email", email)]:
            person = self._by_id.get((what, one.casefold())) if one else None
            if person is not None:
                return person, ""
        named = list({one.key: one for one in self._by_name.get(_plain(name), [])}.values())
        named = [one for one in named if one.in_roster or self._same(one, name, path)]
        strangers = [one for one in named if not any(one.ids.get(w, i) != i for w, i in ids.items())]
        note = ""
        if len(strangers) == 1:
            person = strangers[0]
            first = self._called.setdefault(person.key, name)
            if first != name:
                note = (
                    f"'{clean(first, 80)}' and '{clean(name, 80)}' are both taken for {person.name or person.key}; "
                    "if they are two students, only ids tell them apart."
                )
            return person, note
        if len(strangers) > 1:
            note = f"{len(strangers)} students can be meant by '{clean(name, 80)}'; kept as a student of its own."
        given = email or next((f"{what}:{one}" for what, one in ids.items()), "")
        simple = [f"name:{_plain(name) or 'nameless'}"] if _SIMPLE.fullmatch(name) else []
        for one in [given] if given else [*simple, _spelled(name)]:
            key = one if not note else f"{one} (of the files)"
            known = next((one for one in self.people if one.key == key), None)
            if known is None:
                break
            if not key.startswith("name:") or self._same(known, name, path):
                return known, note
        person = Person(key, clean(name, 200).strip(), email, "", dict(ids), False)
        self.people.append(person)
        if not note:
            self._add(person)
        return person, note
