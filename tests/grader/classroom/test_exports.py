"""Exports, read back by csv and json; columns as the platforms document them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from unicodedata import normalize

import pytest

from grader.classroom import finals
from grader.classroom.export_cells import Choice, safe, write_table
from grader.classroom.exports import FORMATS
from grader.classroom.gradebook import Gradebook
from grader.classroom.names import Names
from tests.grader.classroom.conftest import REPORTS, Zoo, enter, fill, put
from zoo.core.errors import ZooError

ROSTER = (
    "Student,ID,SIS User ID,SIS Login ID,Section,Email\n"
    '"Lee, Anna",12,S12,anna1,A,a@x\n"=cmd()",13,S13,ben1,A,b@x\n'
)


@pytest.fixture
def graded(book: Gradebook, tmp_path: Path) -> Gradebook:
    (tmp_path / "roster.csv").write_text(ROSTER)
    files = {
        "leeanna_12_1_masks.py": "right",
        "leeanna_12_2_norm.py": "wrong",
        "ben_13_3_masks.py": "wrong",
        "chen_14_4_masks.py": "broken",
    }
    enter(book, put(tmp_path / "in", files), tmp_path / "roster.csv")
    fill(book, REPORTS)
    return book


def table(text: str | dict[str, str]) -> list[dict[str, str]]:
    assert isinstance(text, str)
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_canvas(graded: Gradebook) -> None:
    rows = table(FORMATS["canvas"](graded, Choice()))
    assert list(rows[0]) == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "masks", "norm"]
    assert (rows[0]["Student"], rows[0]["masks"]) == ("    Points Possible", "4.0")
    anna = next(row for row in rows if row["ID"] == "12")
    assert (anna["Student"], anna["masks"], anna["norm"]) == ("Lee, Anna", "4.0", "2.0")
    chen = next(row for row in rows if row["ID"] == "14")
    assert chen["masks"] == ""  # the grader broke: not 0


CANVAS = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,HW 1 (991),masks (7),Final Score\r\n"
    ",,,,,Manual Posting,,\r\n"
    "    Points Possible,,,,,10,4,(read only)\r\n"
    '"Lee, Anna",12,S12,anna1,A,9,,90\r\n'
    '"Stranger, A",77,,x,A,-3,1,=1+1\r\n'
)


def test_a_template_of_canvas_keeps_what_is_not_ours(graded: Gradebook, tmp_path: Path) -> None:
    path = tmp_path / "canvas.csv"
    path.write_text(CANVAS, newline="")
    made = FORMATS["canvas"](graded, Choice(template=path))
    expected = CANVAS.removeprefix("\ufeff").replace("A,9,,90", "A,9,4.0,90")
    assert made == expected
    named = FORMATS["canvas"](graded, Choice("masks", path, "HW 1"))
    assert named == CANVAS.removeprefix("\ufeff").replace("A,9,,90", "A,4.0,,90")
    with pytest.raises(ZooError, match=r"no column called HW 9\. Its columns"):
        FORMATS["canvas"](graded, Choice("masks", path, "HW 9"))
    with pytest.raises(ZooError, match="no column called norm"):
        FORMATS["canvas"](graded, Choice("norm", path))
    with pytest.raises(ZooError, match="exclude each other"):
        FORMATS["canvas"](graded, Choice("masks", path, anonymous=True))
    path.write_text("a,b\n")
    with pytest.raises(ZooError, match="no column 'Student'"):
        FORMATS["canvas"](graded, Choice(template=path))


def test_moodle(book: Gradebook, tmp_path: Path) -> None:
    enter(book, put(tmp_path / "in", {"Anna Lee_345_assignsubmission_file_/masks.py": "wrong"}))
    fill(book, REPORTS)
    (row,) = table(FORMATS["moodle"](book, Choice()))
    # what Moodle's import looks for, and what it prints before the number
    assert row["Identifier"] == "Participant 345"
    assert row.keys() >= {"Grade", "Last modified (grade)", "Feedback comments"}
    assert (row["Grade"], row["Maximum grade"], row["Feedback comments"]) == (
        "2.0",
        "4.0",
        "Text of inverted.",
    )
    path = tmp_path / "moodle.csv"
    path.write_text('Identifier,"Full name",Grade,"Last modified (grade)"\n"Participant 345","Anna Lee",,-\n')
    (row,) = table(FORMATS["moodle"](book, Choice(template=path)))
    assert row == {
        "Identifier": "Participant 345",
        "Full name": "Anna Lee",
        "Grade": "2.0",
        "Last modified (grade)": "-",
    }


def test_moodle_without_its_numbers_is_no_empty_file(graded: Gradebook) -> None:
    with pytest.raises(ZooError, match=r"None of the 3 students .* --template"):
        FORMATS["moodle"](graded, Choice("masks"))


def test_nbgrader(graded: Gradebook) -> None:
    rows = table(FORMATS["nbgrader"](graded, Choice("masks")))
    assert list(rows[0]) == [
        *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
        *("raw_score", "late_submission_penalty", "score", "max_score"),
    ]
    anna = next(row for row in rows if row["student_id"] == "a@x")
    assert (anna["first_name"], anna["last_name"], anna["score"], anna["max_score"]) == (
        "Anna",
        "Lee",
        "4.0",
        "4.0",
    )


def test_gradescope(graded: Gradebook) -> None:
    files = FORMATS["gradescope"](graded, Choice("masks"))
    assert isinstance(files, dict)
    anna = json.loads(files["a@x.json"])
    assert anna["score"] == 4
    assert [one["max_score"] for one in anna["tests"]] == [2, 2]
    broken = json.loads(next(text for name, text in files.items() if "canvas" in name))
    assert "score" not in broken
    assert "Not graded" in broken["output"]
    with pytest.raises(ZooError, match="--exercise"):
        FORMATS["gradescope"](graded, Choice())


def test_long_tables(graded: Gradebook) -> None:
    assert len(table(FORMATS["submissions"](graded, Choice()))) == 4
    assert len(table(FORMATS["tests"](graded, Choice("masks")))) == 4
    mistakes = table(FORMATS["mistakes"](graded, Choice()))
    assert [(row["exercise"], row["mistake"]) for row in mistakes] == [
        ("masks", "inverted"),
        ("norm", "inverted"),
    ]
    grades = table(FORMATS["grades"](graded, Choice("masks")))
    assert {row["student"]: row["state"] for row in grades} == {
        "a@x": "graded",
        "b@x": "graded",
        "canvas:14": "broken",
    }


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_without_names(graded: Gradebook, form: str) -> None:
    with graded.transaction():
        graded.execute(
            "INSERT INTO overrides (student, exercise, points, reason, who, at) "
            "VALUES (1, 'masks', 1, 'mail of Anna', 'teacher', 0)"
        )
    finals.compute(graded)
    made = FORMATS[form](graded, Choice("masks", anonymous=True))
    text = made if isinstance(made, str) else json.dumps(made)
    assert "student-" in text
    for name in ("Anna", "anna", "a@x", "b@x", "S12", "teacher"):
        assert name not in text


@pytest.mark.parametrize(("known", "written"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_name_in_another_unicode_form_is_hidden(graded: Gradebook, known: str, written: str) -> None:
    name = "Böb Ødegård"
    graded.execute("UPDATE students SET name = ? WHERE key = 'b@x'", (normalize(known, name),))
    hide = Names(graded, anonymous=True).hide
    for text in (f"# by {name}!", "print('böb ødegård')", "# Ødegård's own", "# ØDEGÅRD"):
        hidden = normalize("NFC", hide(normalize(written, text)))
        assert "student-" in hidden
        assert not re.search("öb|gård", hidden, re.IGNORECASE), hidden


def test_a_name_with_a_turkish_i_is_hidden(graded: Gradebook) -> None:
    for name in ("Dilek", "İpek Işık"):
        graded.execute("UPDATE students SET name = ? WHERE key = 'b@x'", (name,))
        hide = Names(graded, anonymous=True).hide
        for text in (
            name,
            name.upper(),
            name.replace("i", "İ"),
            name.replace("i", "ı"),
            name.replace("İ", "I"),
        ):
            assert re.fullmatch("student-[0-9a-f]{8}", hide(text)), (text, hide(text))


@pytest.mark.parametrize("cell", ["=1+1", "+x", "-x", "@x", "\t=1", "-1+cmd|' /C calc'!A0"])
def test_no_cell_is_a_formula(cell: str) -> None:
    assert str(safe(cell)).startswith(("'", " "))
    (row,) = csv.reader(io.StringIO(write_table([[safe(cell)]]), newline=""))
    assert row[0][0] not in "=+-@\t"


@pytest.mark.parametrize("separator", [";", "\t", "|", "\n"])
@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_nor_where_the_separator_is_another_one(sign: str, separator: str) -> None:
    for cell in (f"{sign}1+1", f" {sign}1", f"x{separator}{sign}1+1", f"x{separator} \xa0{sign}1"):
        text = write_table([["anna", safe(cell)]])
        cells = [
            one.strip(' "\xa0\r') for one in text.partition(",")[2].replace("\n", separator).split(separator)
        ]
        assert not [one for one in cells if one.startswith(sign)]
    assert safe("a;=b") == "a;'=b"
    assert safe("the mask is 0; a - b | c, x=1") == "the mask is 0; a - b | c, x=1"


def test_numbers_stay_numbers() -> None:
    assert [safe(one) for one in (-1, -1.5, "-3", "12", None)] == [-1, -1.5, "-3", "12", ""]


@pytest.mark.parametrize("form", sorted(set(FORMATS) - {"gradescope", "json", "feedback"}))
def test_a_hostile_name_in_each_table(graded: Gradebook, form: str) -> None:
    with graded.transaction():
        graded.execute("""UPDATE students SET ids = '{"moodle": "345"}' WHERE key = 'b@x'""")
    text = FORMATS[form](graded, Choice("masks"))
    assert isinstance(text, str)
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
    if form in ("grades", "canvas", "moodle", "submissions", "tests", "mistakes"):
        assert "'=cmd()" in cells


def test_on_the_command_line(zoo: Zoo, graded: Gradebook, tmp_path: Path) -> None:
    graded.close()
    assert zoo("class", "export", "grades", "-o", "g.csv").exit_code == 0
    assert len(table((tmp_path / "g.csv").read_text())) == 6
    assert zoo("class", "export", "gradescope", "--exercise", "masks", "-o", "out").exit_code == 0
    assert len(list((tmp_path / "out").iterdir())) == 3
    for words in (["gradescope", "--exercise", "masks"], ["grades", "--template", "x.csv"], ["nothing"]):
        assert zoo("class", "export", *words).exit_code == 2


TABLES = {
    "grades": (),
    "canvas": ("masks",),
    "moodle": ("Grade", "Maximum grade"),
    "nbgrader": ("raw_score", "late_submission_penalty", "score", "max_score"),
    "submissions": (),
    "tests": (),
    "mistakes": (),
}
"""By format in CSV: the columns of numbers, as the platform reads them."""
NUMBERS = ("points", "max_points", "raw", "penalty", "attempt", "line")


def test_every_csv_format_is_read_back() -> None:
    assert TABLES.keys() == FORMATS.keys() - {"gradescope", "json", "feedback"}


@pytest.mark.parametrize("form", TABLES)
def test_pandas_and_csv_read_the_same(graded: Gradebook, form: str) -> None:
    pandas = pytest.importorskip("pandas", reason="needs the extra `ci`")
    with graded.transaction():
        name, ids = 'Lee, "Anna"\nMaría', '{"canvas": "13", "moodle": "345"}'
        graded.execute("UPDATE students SET name = ?, ids = ? WHERE key = 'b@x'", (name, ids))
    finals.compute(graded)
    text = FORMATS[form](graded, Choice("masks"))
    assert isinstance(text, str)
    expected = table(text)
    frame = pandas.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    assert expected
    assert list(frame.columns) == list(expected[0])
    assert frame.to_dict("records") == expected
    typed = pandas.read_csv(io.StringIO(text))
    for column in (*TABLES[form], *(one for one in NUMBERS if one in typed)):
        assert pandas.api.types.is_numeric_dtype(typed[column]), column
    assert "María" in text


def test_the_worksheet_of_moodle_has_its_columns_in_their_order(book: Gradebook, tmp_path: Path) -> None:
    """As mod/assign/gradingtable.php writes them, with names and submission dates shown."""
    enter(book, put(tmp_path / "in", {"Anna Lee_345_assignsubmission_file_/masks.py": "wrong"}))
    fill(book, REPORTS)
    assert list(table(FORMATS["moodle"](book, Choice()))[0]) == [
        *(
            "Identifier",
            "Full name",
            "Email address",
            "Status",
            "Grade",
            "Maximum grade",
            "Grade can be changed",
        ),
        *("Last modified (submission)", "Last modified (grade)", "Feedback comments"),
    ]


def test_results_for_gradescope_have_only_documented_keys(graded: Gradebook) -> None:
    """As https://gradescope-autograders.readthedocs.io/en/latest/specs/ lists them."""
    whole = {"score", "execution_time", "output", "output_format", "test_output_format", "test_name_format"}
    whole |= {"visibility", "stdout_visibility", "extra_data", "tests", "leaderboard"}
    single = {"score", "max_score", "status", "name", "name_format", "number", "output", "output_format"}
    single |= {"tags", "visibility", "extra_data"}
    files = FORMATS["gradescope"](graded, Choice("masks"))
    assert isinstance(files, dict)
    for text in files.values():
        found = json.loads(text)
        assert found.keys() <= whole
        assert "score" in found or found["output"]
        for one in found.get("tests", ()):
            assert single >= one.keys() >= {"name", "score", "max_score"}
