"""What a class misunderstands."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from grader.classroom.examples import without_comment
from grader.classroom.gradebook import Gradebook
from grader.classroom.misconceptions import Move, find
from grader.classroom.names import Names
from grader.classroom.pages import report_page
from tests.grader.classroom.conftest import REPORTS, Zoo, a_test, enter, fill, put, report

CLASS = {
    "a/1/masks.py": "wrong",
    "a/2/masks.py": "right",
    "b/1/masks.py": "wrong",
    "b/2/masks.py": "wrong ",
    "c/1/masks.py": "wrong",
    "c/2/masks.py": "other",
    "d/1/masks.py": "unnamed",
    "d/2/masks.py": "unnamed",  # the same file again: no further attempt
    "e/1/masks.py": "right",
    "f/1/masks.py": "broken",
}


def a_class(book: Gradebook, folder: Path) -> None:
    for name, text in CLASS.items():
        put(folder, {name: text, f"{Path(name).parent}/timestamp.txt": f"2026-03-0{name[2]} 10:00:00 UTC"})
    enter(book, folder)
    fill(book, REPORTS)


def test_mistakes_are_counted_by_student(book: Gradebook, tmp_path: Path) -> None:
    a_class(book, tmp_path / "in")
    first, second = find(book).misconceptions
    assert (first.mistake, first.students, first.files, first.now, first.fixed) == ("inverted", 3, 4, 1, 2)
    assert (first.share, first.points, first.examples, first.tests) == (
        0.6,
        2.0,
        ["name:a", "name:b", "name:c"],
        ["t.one"],
    )
    assert (second.mistake, second.students, second.now) == ("transposed", 1, 1)
    assert first.lines[0].endswith("a/1/masks.py:7")


def test_exercises(book: Gradebook, tmp_path: Path) -> None:
    a_class(book, tmp_path / "in")
    (one,) = find(book).exercises
    assert (one.students, one.passed, one.passed_first, one.unnamed, one.hard) == (5, 2, 1, 1, True)


def test_tests(book: Gradebook, tmp_path: Path) -> None:
    a_class(book, tmp_path / "in")
    first, second = find(book).tests
    assert (first.passed, first.failed, first.named) == (2, 6, 5)
    assert second.verdict == ""
    assert second.difference is not None


def test_moves_from_attempt_to_attempt(book: Gradebook, tmp_path: Path) -> None:
    a_class(book, tmp_path / "in")
    assert set(map(str, find(book).moves)) == {
        str(Move("masks", "inverted", "passed", 1)),
        str(Move("masks", "inverted", "inverted", 1)),
        str(Move("masks", "inverted", "transposed", 1)),
    }


def test_a_file_that_cannot_be_loaded_is_no_failure_without_a_name(book: Gradebook, tmp_path: Path) -> None:
    kinds = {"a/1": "gone", "a/2": "right", "b/1": "wrong", "b/2": "gone"}
    for place, text in kinds.items():
        put(
            tmp_path / "in",
            {f"{place}/masks.py": text, f"{place}/timestamp.txt": f"2026-03-0{place[2]} 10:00:00 UTC"},
        )
    enter(book, tmp_path / "in")
    fill(book, {**REPORTS, "gone": report(a_test("load", "failed"))})
    with book.transaction():
        book.execute("UPDATE gradings SET state = 'unloadable' WHERE max_points = 2")
    assert set(map(str, find(book).moves)) == {
        str(Move("masks", "not loaded", "passed", 1)),
        str(Move("masks", "inverted", "not loaded", 1)),
    }


def test_mistakes_made_together(book: Gradebook, tmp_path: Path) -> None:
    files = {}
    for number in range(9):
        kind = "wrong" if number < 3 else "right"
        files |= {f"s{number}/masks.py": kind, f"s{number}/norm.py": kind}
    enter(book, put(tmp_path / "in", files))
    fill(book, REPORTS)
    (pair,) = find(book).pairs
    assert (pair.first, pair.second, pair.students, pair.expected) == (
        "masks/inverted",
        "norm/inverted",
        3,
        1.0,
    )
    one, _two = find(book).tests[:2]
    assert (one.passed, one.failed) == (6, 3)
    assert find(book).tests[1].verdict == "never fails"
    assert any("2 of 4 tests never failed" in sentence for sentence in find(book).summary)


def test_nothing_is_graded_yet(book: Gradebook, tmp_path: Path) -> None:
    enter(book, put(tmp_path / "in", {"a/masks.py": "x"}))
    found = find(book)
    assert (found.misconceptions, found.exercises, found.summary) == ([], [], [])


CODE = "def f(x):\n    shown = x * 2\n    return shown\n"


def test_the_terminal_shows_how_a_mistake_is_written(zoo: Zoo, book: Gradebook, tmp_path: Path) -> None:
    spot = {
        "line": 2,
        "column": 13,
        "end_line": 2,
        "end_column": 18,
        "source": "    shown = x * 2",
        "region": "f",
    }
    wrong = report(a_test("t.one", "failed", ("inverted",)), a_test("t.two", "failed"))
    wrong["results"][0]["mistakes"][0]["where"] = spot
    reports: dict[str, dict[str, Any] | str] = {}
    for number in range(3):
        text = f"{CODE}# {number}"
        reports[text] = wrong
        put(tmp_path / "in", {f"s{number}/masks.py": text})
    enter(book, tmp_path / "in")
    fill(book, reports)
    book.close()
    shown = " ".join(zoo("class", "misconceptions").stdout.split())
    assert "`x * 2` in f: 3 students, such as s0, line 2" in shown
    assert "Failures without a known mistake" in shown
    assert "title of t.two 3 wrong in t.two" in shown
    assert "--html FILE writes a page" in shown
    assert "There is none." in zoo("class", "misconceptions", "--what", "pairs").stdout
    rows = list(
        csv.DictReader(io.StringIO(zoo("class", "misconceptions", "--what", "unnamed", "--csv").stdout))
    )
    assert [(row["test"], row["students"]) for row in rows] == [("t.two", "3")]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("centred = wide  # [batch, size]", "centred = wide  "),
        ("text = 'a # b' + \"it's #\"  # it's \"odd\"", "text = 'a # b' + \"it's #\"  "),
        ("'an open string # is cut", "'an open string "),
        ("x = 1", "x = 1"),
    ],
)
def test_comments_are_cut_off_whole(line: str, code: str) -> None:
    assert without_comment(line) == code


def test_a_table_without_rows_has_a_header(zoo: Zoo, book: Gradebook, tmp_path: Path) -> None:
    enter(book, put(tmp_path / "in", {"a/masks.py": "right"}))
    fill(book, REPORTS)
    book.close()
    empty = zoo("class", "misconceptions", "--csv").stdout.splitlines()
    assert [line.split(",")[:3] for line in empty] == [["exercise", "mistake", "text"]]
    for table in ("exercises", "attempts", "tests", "moves", "pairs", "unnamed"):
        header, *rows = csv.reader(
            io.StringIO(zoo("class", "misconceptions", "--csv", "--what", table).stdout)
        )
        assert header, table
        assert all(len(row) == len(header) for row in rows), table


def test_students_with_one_name_are_told_apart(zoo: Zoo, book: Gradebook, tmp_path: Path) -> None:
    enter(book, put(tmp_path / "in", {"a/masks.py": "right", "b/masks.py": "wrong", "c/masks.py": "right"}))
    with book.transaction():
        book.execute("UPDATE students SET name = 'Kofi Okafor' WHERE name IN ('a', 'b')")
    fill(book, REPORTS)
    names = Names(book)
    assert [names.label(number) for number in names.people] == [
        "Kofi Okafor (name:a)",
        "Kofi Okafor (name:b)",
        "c",
    ]
    page = report_page(book, names)
    assert page.count("Kofi Okafor (name:a)") == page.count("Kofi Okafor") - page.count(
        "Kofi Okafor (name:b)"
    )
    book.close()
    done = zoo("class", "show", "Kofi Okafo")
    assert (done.exit_code, "can mean 2 students: name:a, name:b" in " ".join(done.stderr.split())) == (
        2,
        True,
    )
    done = zoo("class", "show", "Kafi")
    said = " ".join(done.stderr.split())
    assert (done.exit_code, "The nearest names are Kofi Okafor, c." in said) == (2, True), said


def test_a_student_is_found_by_the_name_of_the_anonymous_exports(
    zoo: Zoo, book: Gradebook, tmp_path: Path
) -> None:
    enter(book, put(tmp_path / "in", {f"{name}/masks.py": name for name in "ab"}))
    book.execute("UPDATE students SET name = 'Kofi Okafor'")
    masks = [one.key for one in Names(book, anonymous=True).people.values()]
    book.close()
    for wanted, expected in (("nobody", "nearest names are"), ("Okafor", "can mean 2 students:")):
        done = zoo("class", "show", "--anonymous", wanted)
        said = " ".join(done.stderr.split())
        assert done.exit_code == 2
        assert expected in said
        assert all(one in said for one in masks)
        assert not re.search("Kofi|name:", said), said
    for one in masks:
        assert zoo("class", "show", "--anonymous", one).stdout.startswith(one)
        assert zoo("class", "show", one).exit_code == 2


def test_on_the_command_line(zoo: Zoo, book: Gradebook, tmp_path: Path) -> None:
    a_class(book, tmp_path / "in")
    book.close()
    shown = zoo("class", "misconceptions").stdout
    assert "inverted: line 7: Text of inverted." in " ".join(zoo("class", "show", "a").stdout.split())
    assert "masks: 3 students (60%) made the mistake inverted; 1 still has it." in shown
    assert "masks is hard for this class: 2 of 5 passed." in shown
    data = json.loads(zoo("class", "misconceptions", "--json").stdout)
    assert data["misconceptions"][0]["mistake"] == "inverted"
    rows = list(
        csv.DictReader(io.StringIO(zoo("class", "misconceptions", "--csv", "--what", "moves").stdout))
    )
    assert {row["after"] for row in rows} == {"passed", "inverted", "transposed"}
