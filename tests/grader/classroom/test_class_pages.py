"""Pages of a class: what they say, what is hostile in them, and how they do in a browser."""

from __future__ import annotations

import json
import re
from html import unescape
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from grader.classroom import finals
from grader.classroom.drawings import flow, histogram
from grader.classroom.feedback import feedback_pages
from grader.classroom.gradebook import Gradebook
from grader.classroom.misconceptions import Findings, Move, find
from grader.classroom.names import Names
from grader.classroom.pages import misconceptions_page, report_page, similar_page
from grader.classroom.similar import LIMITS, Match, Side, Similarity
from tests.browser import OpenPage
from tests.grader.classroom.conftest import RIGHT, Zoo, a_test, enter, fill, put, report

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>\u202e\x1b[31m"
NAME = "Eve <b onclick=1>"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")


def source(name: str, wrong: str) -> str:
    """A file whose line 7 is wrong."""
    return (
        f"import torch\n\n# {HOSTILE}\n# by {name}\n\ndef to_mask({name}_x, pad):\n    return {wrong}  # mine"
    )


def graded(name: str, *results: dict[str, Any]) -> dict[str, Any]:
    return report(*results, exercise=name)


def failing(test: str, mistake: str, wrong: str) -> dict[str, Any]:
    one = a_test(test, "failed", (mistake,))
    where = {"line": 7, "end_line": 7, "column": 12, "end_column": 12 + len(wrong), "region": "to_mask"}
    one["mistakes"][0]["where"] = {**where, "value": f"wrong {HOSTILE}", "expected": "x != pad"}
    one["mistakes"][0]["text"] = f"It is inverted {HOSTILE}"
    return one


WRONG = {name: source(name, f"{name}_x == pad") for name in ("anna", "ben", "eve")}
OTHER = source("ben", "ben_x + pad")
UNNAMED = source("dora", "dora_x")
UNNAMED_RESULT = {
    **a_test("t.one", "failed"),
    "where": {"line": 7, "end_line": 7, "column": 12, "end_column": 18, "region": "to_mask"},
}
REPORTS: dict[str, Any] = {
    **{
        text: graded("masks", failing("t.one", "inverted", f"{name}_x == pad"), a_test("t.two", "passed"))
        for name, text in WRONG.items()
    },
    OTHER: graded("masks", a_test("t.one", "passed"), failing("t.two", "added", "ben_x + pad")),
    UNNAMED: graded("masks", UNNAMED_RESULT, a_test("t.two", "passed")),
    "right": RIGHT,
    "broken": f"KeyError: {HOSTILE}",
}
FILES = {
    "anna/attempt1/masks.py": WRONG["anna"],
    "anna/attempt2/masks.py": "right",
    "ben/attempt1/masks.py": WRONG["ben"],
    "ben/attempt2/masks.py": OTHER,
    f"{NAME}/masks.py": WRONG["eve"],
    "dora/masks.py": UNNAMED,
    "dora2/masks.py": UNNAMED,
    "frank/masks.py": "broken",
    f"{HOSTILE.replace('/', '')}.txt": "",
}


@pytest.fixture
def a_class(book: Gradebook, tmp_path: Path) -> Gradebook:
    enter(book, put(tmp_path / "in", FILES))
    fill(book, REPORTS)
    with book.transaction():
        book.execute("UPDATE submissions SET marked_late = 1 WHERE path LIKE 'ben%'")
        book.execute("INSERT INTO late_rules VALUES ('masks', NULL, 'percent', '{}')")
        book.execute(
            "INSERT INTO overrides (student, exercise, points, reason, who, at) "
            "SELECT id, 'masks', 1, 'mail of Anna', 'teacher', 0 FROM students WHERE name = 'anna'"
        )
    finals.compute(book)
    return book


def alike(book: Gradebook) -> Similarity:
    """Two similar files, without the library that finds them."""
    numbers = {row["name"]: row["id"] for row in book.all("SELECT id, name FROM students")}
    sides = [
        Side(numbers[name], f"name:{name}", name, f"{name}/masks.py", 0.9, (6, 7)) for name in (NAME, "dora")
    ]
    return Similarity(
        [Match("masks", 0.9, False, *sides)], 0.65, {"masks": (2, 1)}, [("masks", NAME, "empty")]
    )


def test_examples_are_grouped_by_how_they_are_written(a_class: Gradebook) -> None:
    found = find(a_class)
    inverted = found.misconceptions[0]
    assert (inverted.mistake, inverted.students, inverted.fixed, inverted.replaced) == ("inverted", 3, 2, 1)
    (place,) = inverted.places  # `anna_x == pad` and `ben_x == pad` are alike
    assert (place.region, place.files, place.students, place.line) == ("to_mask", 3, 3, 7)
    assert place.lines[place.line - place.before].endswith("== pad  # mine")
    (unnamed,) = found.unnamed
    assert (unnamed.test, unnamed.students, unnamed.files, unnamed.example.line) == ("t.one", 2, 1, 7)
    json.dumps(found.as_object())


def test_a_mistake_made_again_is_kept(book: Gradebook, tmp_path: Path) -> None:
    files = {
        "a/attempt1/masks.py": WRONG["anna"],
        "a/attempt2/masks.py": WRONG["ben"],
        "b/masks.py": WRONG["eve"],
    }
    enter(book, put(tmp_path / "in", files))
    fill(book, REPORTS)
    (one,) = find(book).misconceptions
    assert (one.students, one.now, one.kept, one.fixed) == (2, 2, 1, 0)


def test_flow_keeps_every_student_and_stays_in_its_box() -> None:
    moves = [Move("masks", f"m{i}", f"m{i + 1}", i + 1) for i in range(20)]
    moves += [
        Move("masks", "m3", "m3", 4),
        Move("masks", "", "passed", 2),
        Move("masks", "passed", "no longer passed", 1),
    ]
    drawn = flow("masks", moves)
    assert drawn is not None
    total = sum(move.students for move in moves)
    assert sum(node.count for node in drawn.left) == sum(node.count for node in drawn.right) == total
    assert sum(int(one.text.split()[0]) for one in drawn.ribbons) == total
    assert {one.kind for one in drawn.ribbons} >= {"kept", "passed", "other"}
    assert len(drawn.left) < 15
    for nodes in (drawn.left, drawn.right):
        for above, below in pairwise(nodes):
            assert above.y + above.height <= below.y
        assert nodes[-1].y + nodes[-1].height <= drawn.height
    assert flow("masks", []) is None


def test_histogram_counts_everybody() -> None:
    drawn = histogram([0.0, 0.1, 0.3, 0.999, 1.0, 1.0])
    assert [bar.count for bar in drawn.bars] == [1, 1, 0, 1, 0, 0, 0, 0, 0, 1, 2]
    assert drawn.text == "1 with 0 to 9%, 1 with 10 to 19%, 1 with 30 to 39%, 1 with 90 to 99%, 2 with 100%"
    assert histogram([]).text == "nobody"


def pages(book: Gradebook, *, anonymous: bool = False) -> dict[str, str]:
    names = Names(book, anonymous=anonymous)
    students = {f"student-{number}": page for number, (_, page) in feedback_pages(book, names).items()}
    found = alike(book)
    return {
        "report": report_page(book, names, alike=None if anonymous else found),
        "misconceptions": misconceptions_page(find(book, "", names)),
        **({} if anonymous else {"similar": similar_page(book, names, found)}),
        **students,
    }


def test_what_the_report_says(a_class: Gradebook) -> None:
    text = unescape(pages(a_class)["report"])
    for said in (
        "not graded: internal error",
        "mail of Anna",
        "1 day late: -10",
        "inverted",
        "Hidden tests",
        LIMITS[0],
    ):
        assert said in text
    assert "Not looked for" in report_page(a_class, Names(a_class))


def test_text_of_strangers_stays_text(a_class: Gradebook) -> None:
    for name, page in pages(a_class).items():
        assert page.count("<script") == 1, name
        assert "<img src=x" not in page, name
        assert "<b onclick" not in page, name
        assert not CONTROL.search(page), name


def test_names_are_hidden_on_every_page(a_class: Gradebook) -> None:
    for name, page in pages(a_class, anonymous=True).items():
        for word in ("anna", "Anna", "dora2", "frank", "mail of"):
            assert word not in page, (name, word)
        assert "student-" in page, name


def test_a_page_of_feedback_has_the_source_with_the_place(a_class: Gradebook) -> None:
    students = {row["name"]: row["id"] for row in a_class.all("SELECT id, name FROM students")}
    found = feedback_pages(a_class, Names(a_class))
    name, page = found[students["ben"]]
    assert name == "name_ben-" + name[9:]
    text = unescape(page)
    assert re.search(r"<mark>ben_x(<.*?>| )*\+(<.*?>| )*pad</mark>", text)
    for said in ("Attempts at masks", "2 (counts)", "1.8/4", "1 day late: -10", "Your source"):
        assert said in text, said
    assert "Not graded: internal error of the grader: KeyError" in unescape(found[students["frank"]][1])
    assert "Set by hand" in found[students["anna"]][1] or "set by hand" in found[students["anna"]][1]


def test_feedback_leaves_out_what_a_learner_may_not_see(book: Gradebook, tmp_path: Path) -> None:
    secret = "6.28"
    named = {**failing("t.one", "inverted", "ben_x == pad"), "picture": secret}
    named["message"] = f"expected {secret}, got 3.14"
    named["mistakes"][0]["where"]["value"] = f"tensor([{secret}])"
    unnamed = {**a_test("t.two", "failed"), "message": f"For 3 rows: expected {secret}, got 3.14"}
    unnamed["where"] = {**UNNAMED_RESULT["where"], "value": secret, "expected": "the mean"}
    broken = {**a_test("t.three", "error"), "message": f"ValueError: {secret}"}
    enter(book, put(tmp_path / "in", {"ben/masks.py": WRONG["ben"]}))
    fill(book, {WRONG["ben"]: {**graded("masks", named, unnamed, broken), "seed": 31_337}})
    ((_, page),) = feedback_pages(book, Names(book)).values()
    for hidden in (secret, "3.14", "31337", "Reproduce", "Seed", "Hint 1 of"):
        assert hidden not in page, hidden
    text = unescape(page)
    for said in (
        "It is inverted",
        "Look.",
        "line 7",
        "Wrong result. Run `zoo grade`",
        "Internal error of the grader",
    ):
        assert said in text, said


def test_on_the_command_line(zoo: Zoo, a_class: Gradebook, tmp_path: Path) -> None:
    a_class.close()
    done = zoo("class", "report", "--no-similar", "-o", "out")
    assert done.exit_code == 0, done.output
    links = re.findall(r'href="(students/[^"]+)"', (tmp_path / "out" / "index.html").read_text())
    assert sorted(links) == sorted(
        f"students/{one.name}" for one in (tmp_path / "out" / "students").iterdir()
    )
    assert len(links) == 6
    assert zoo("class", "report", "--no-similar", "--exercise", "masks", "-o", "one.html").exit_code == 0
    assert "students/" not in (tmp_path / "one.html").read_text()
    assert zoo("class", "misconceptions", "--html", "m.html").stdout == "Wrote 'm.html'.\n"
    data = json.loads(zoo("class", "export", "feedback", "-o", "fb", "--json").stdout)
    assert len(data["written"]) == 6
    assert all((tmp_path / one).is_file() for one in data["written"])
    hidden = zoo("class", "misconceptions", "--anonymous", "--json").stdout
    assert "anna" not in hidden
    assert "student-" in hidden
    rows = zoo("class", "misconceptions", "--csv").stdout
    assert "places" not in rows
    assert zoo("class", "status", "--anonymous").stdout.count("frank") == 0
    assert "anna" not in zoo("class", "show", "anna", "--anonymous").stdout
    assert zoo("class", "report", "-o", "gradebook.sqlite/x.html").exit_code == 2


def test_a_class_without_grades(book: Gradebook) -> None:
    names = Names(book)
    assert "Nobody has handed in a second attempt" in misconceptions_page(find(book, "", names))
    assert feedback_pages(book, names) == {}
    assert "No two files" in similar_page(book, names, Similarity([], 0.5))
    assert isinstance(find(book), Findings)
    report_page(book, names, alike=Similarity([], 0.5))


@pytest.mark.slow
def test_in_a_browser(open_page: OpenPage, a_class: Gradebook, tmp_path: Path) -> None:
    for name, text in pages(a_class).items():
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    ben = next(row["id"] for row in a_class.all("SELECT id FROM students WHERE name = 'ben'"))
    for name in ("similar", "misconceptions", f"student-{ben}"):
        open_page(tmp_path / f"{name}.html")  # no error, no request, accessible, narrow, on paper
    page = open_page(tmp_path / "report.html")
    assert page.title() == "Report of a class"
    names = page.locator("#students tbody tr:visible th")
    assert names.count() == 6
    page.get_by_label("Search students").fill("EVE")
    assert names.all_inner_texts() == [NAME]
    page.get_by_label("Search students").fill("")
    students = page.locator("#students")
    students.get_by_role("button", name="mean").click()
    students.get_by_role("button", name="mean").click()
    assert names.first.inner_text() == "dora"
    assert page.locator("svg.flow path").count() == 2
