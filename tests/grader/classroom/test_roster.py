"""Rosters in odd encodings, with odd columns; whose a submission is."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.classroom.gradebook import Gradebook
from grader.classroom.roster import Matcher, Person, read_roster
from tests.grader.classroom.conftest import enter, put
from zoo.core.errors import ZooError

TEXT = "Name;Email\nJürgen Müller;jm@uni.example\nÉmile Zola;ez@uni.example\n"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings(tmp_path: Path, encoding: str, end: str) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(TEXT.replace("\n", end).encode(encoding))
    people = read_roster(path).people
    assert [one.name for one in people] == ["Jürgen Müller", "Émile Zola"]
    assert [one.email for one in people] == ["jm@uni.example", "ez@uni.example"]


HEADERS = {
    "canvas": (
        "Student,ID,SIS User ID,SIS Login ID,Section,HW\n,,,,,Manual Posting\n    Points Possible,,,,,10\n"
        '"Lee, Anna",12,S1,anna1,A,9\n"Student, Test",99,,x,A,\n',
        {"canvas": "12", "sis": "S1", "login": "anna1"},
    ),
    "moodle": ("Identifier,Full name,Email address\nParticipant 345,Anna Lee,a@x\n", {"moodle": "345"}),
    "gradescope": (
        "First Name,Last Name,SID,Email,Role\nAnna,Lee,0042,a@x,Student\n",
        {"gradescope": "0042"},
    ),
    "github": ("identifier,github_username,github_id,name\n,octo,1,Anna Lee\n", {"github": "octo"}),
    "tabs": ("Username\tFirst name\tSurname\nanna1\tAnna\tLee\n", {"login": "anna1"}),
}


@pytest.mark.parametrize("name", HEADERS)
def test_platforms(tmp_path: Path, name: str) -> None:
    text, ids = HEADERS[name]
    path = tmp_path / "r.csv"
    path.write_text(text)
    (person,) = read_roster(path).people
    assert (person.name, person.ids, person.in_roster) == ("Anna Lee", ids, True)


def test_duplicates_are_named_and_nobody_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("name,email\nAnna,a@x\nAnna,a@x\nBen,b@x\nBerta,b@x\nAnna,other@x\n")
    roster = read_roster(path)
    assert [one.key for one in roster.people] == ["a@x", "b@x", "name:berta", "other@x"]
    twice, shared, namesakes = roster.notes
    assert "twice" in twice
    assert "Berta" in shared
    assert "several students are called Anna" in namesakes


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "empty"), (b"a,b\n1,2\n", "no column that identifies"), (b"\xff\xfe", "empty")],
)
def test_what_is_no_roster(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "r.csv"
    path.write_bytes(content)
    with pytest.raises(ZooError, match=sentence):
        read_roster(path)
    with pytest.raises(ZooError, match="cannot be read"):
        read_roster(tmp_path)


ANNA = Person("a@x", "Anna Maria Lee", "a@x", ids={"canvas": "12", "login": "aml"}, in_roster=True)
BEN = Person("b@x", "Ben Lee", "b@x", ids={"canvas": "13"}, in_roster=True)


@pytest.mark.parametrize(
    ("name", "ids", "expected"),
    [
        ("whoever", {"canvas": "12"}, "a@x"),
        ("leeannamaria", {}, "a@x"),
        ("ANNA maria LEE", {}, "a@x"),
        ("Lee Anna-Maria", {}, "a@x"),
        ("aml", {}, "a@x"),
        ("Ben Lee", {"canvas": "99"}, "canvas:99"),  # another id: another student
        ("Chen", {}, "name:chen"),
    ],
)
def test_whose(name: str, ids: dict[str, str], expected: str) -> None:
    person, note = Matcher([ANNA, BEN]).match(name, ids)
    assert (person.key, note) == (expected, "")


def test_a_name_of_two_students_is_nobodys() -> None:
    matcher = Matcher([Person("a@x", "Anna Lee", in_roster=True), Person("b@x", "Lee Anna", in_roster=True)])
    person, note = matcher.match("Anna Lee", {})
    assert person.key == "name:annalee (of the files)"
    assert "2 students" in note
    assert matcher.match("Anna Lee", {})[0] == person


FOLDERS = (
    *("=1+1", " =1+1", "\uff1d1\uff0b1", "\xa0=1+1", "=1+1\u200b", "=1+1\\u200b", "\udcff=1+1"),
    *("SS", "ss", "\xdf", "anna_lee", "Anna Lee", "anna", " anna", "anna\u200b"),
    *("+", "++", "--", "_", "\udcff"),
)


def test_without_a_roster_each_folder_is_a_student_of_its_own() -> None:
    matcher = Matcher([])
    keys = [matcher.match(one, {}) for one in FOLDERS]
    assert len({person.key for person, _note in keys}) == len(FOLDERS)
    assert not any(note for _person, note in keys)
    for key in (person.key for person, _note in keys):
        assert key.isprintable()
        key.encode()
    again = Matcher(matcher.people)
    assert [again.match(one, {}) for one in reversed(FOLDERS)] == keys[::-1]
    assert matcher.match("E\u0301mile", {}) == matcher.match("\xc9mile", {})  # as two systems write one name


def test_folders_of_an_older_gradebook_keep_their_students() -> None:
    """Their keys were the letters alone, also of names that are spelled in several ways."""
    keys = {
        "Anna Lee": "name:annalee",
        "anna_lee": "name:annalee",
        "ben.k": "name:benk",
        "__": "name:nameless",
    }
    people = [Person("name:annalee", "Anna Lee"), Person("name:benk", "ben.k"), Person("name:nameless", "__")]
    matcher = Matcher(people, [(key, f"{name}/masks.py") for name, key in keys.items()])
    assert {name: matcher.match(name, {}, path=f"{name}/masks.py")[0].key for name in keys} == keys
    assert matcher.match("ANNA lee", {}, path="ANNA lee/masks.py")[0].key == "spelled:ANNA lee"


def test_an_older_gradebook_gets_no_new_students(book: Gradebook, tmp_path: Path) -> None:
    folder = put(tmp_path / "in", {"Anna Lee/masks.py": "right", "anna_lee/norm.py": "right"})
    enter(book, folder)
    with book.transaction():
        book.execute("UPDATE submissions SET student = 1")
        book.execute("DELETE FROM students WHERE id != 1")
    enter(book, put(folder, {"anna lee/loss.py": "right"}))
    keys = [row["key"] for row in book.all("SELECT key FROM students ORDER BY id")]
    assert keys == ["name:annalee", "spelled:anna lee"]
    assert len(book.all("SELECT * FROM submissions")) == 3


def test_two_folders_of_one_student_in_the_roster_are_noted() -> None:
    matcher = Matcher([ANNA, BEN])
    assert matcher.match("Ben Lee", {}) == (BEN, "")
    assert matcher.match("Ben Lee", {}) == (BEN, "")
    person, note = matcher.match("lee_ben", {})
    assert (person, "'Ben Lee' and 'lee_ben' are both taken for Ben Lee" in note) == (BEN, True)
