"""Rosters in odd encodings, with odd columns; whose a submission is."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.classroom.roster import Matcher, Person, read_roster
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


ANNA = Person("a@x", "Anna Maria Lee", "a@x", ids={"canvas": "12", "login": "aml"})
BEN = Person("b@x", "Ben Lee", "b@x", ids={"canvas": "13"})


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
    matcher = Matcher([Person("a@x", "Anna Lee"), Person("b@x", "Lee Anna")])
    person, note = matcher.match("Anna Lee", {})
    assert person.key == "name:annalee (of the files)"
    assert "2 students" in note
    assert matcher.match("Anna Lee", {})[0] == person
