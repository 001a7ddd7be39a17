"""Similar files: what is found, what does not count, hostile files, and what Dolos and JPlag read."""

from __future__ import annotations

import csv
import io
import json
import re
import time
from pathlib import Path

import pytest

from grader.catalog import get_exercise
from grader.classroom import similar
from grader.classroom.gradebook import Gradebook
from grader.classroom.names import Names
from grader.classroom.synthetic import write_class
from tests import ROOT, solution_file
from tests.grader.classroom.conftest import Zoo, enter, put

RIGHT = sorted((ROOT / "tests" / "grader" / "right" / "decoder").glob("*.py"))
ORIGINAL = RIGHT[0].read_text(encoding="utf-8")
HOSTILE = '<img src=x onerror="alert(1)">'


def renamed(source: str) -> str:
    """The same program with other names, comments and blank lines."""
    words = set(re.findall(r"\b[a-z_]{3,}(?= = )", source))
    for word in words:
        source = re.sub(rf"(?<![.\w]){word}(?!\w|=)", f"my_{word}", source)
    return "\n\n\n# mine\n" + source.replace("\n\n", "\n\n# a thought\n") + "\n\nextra = [1, 2, 3]\n"


@pytest.fixture(autouse=True)
def _library() -> None:
    pytest.importorskip("copydetect", reason="needs the extra `similar`")


def compared(book: Gradebook, threshold: float = similar.THRESHOLD) -> similar.Similarity:
    return similar.compare(book, Names(book), threshold=threshold)


def test_a_renamed_copy_is_found_among_files_of_others(book: Gradebook, tmp_path: Path) -> None:
    files = {f"s{number}/decoder.py": path.read_text(encoding="utf-8") for number, path in enumerate(RIGHT)}
    enter(book, put(tmp_path / "in", {**files, "copier/decoder.py": renamed(ORIGINAL)}))
    found = compared(book)
    (pair,) = found.matches
    assert {pair.first.name, pair.second.name} == {"s0", "copier"}
    assert pair.share > 0.9
    assert not pair.same
    count = len(RIGHT) + 1
    assert found.compared == {"decoder": (count, count * (count - 1) // 2)}
    texts = similar.sources(book, Names(book), found.matches)
    for side in (pair.first, pair.second):
        lines = texts[side.student, "decoder"].split("\n")
        marked = "\n".join(lines[number - 1] for number in side.lines)
        assert "def forward" in marked
        assert "extra = " not in marked


def test_the_fast_count_is_that_of_the_library(book: Gradebook, tmp_path: Path) -> None:
    import copydetect

    enter(book, put(tmp_path / "in", {f"s{i}/decoder.py": p.read_text() for i, p in enumerate(RIGHT[:5])}))
    files = similar._newest(book, "")["decoder"]
    prints = similar._Prints(copydetect, similar._known("decoder"), files)
    for one in files:
        for two in files:
            shares = copydetect.compare_files(prints._prints[one.sha256], prints._prints[two.sha256])[1]
            assert prints.shares(one, two) == pytest.approx(shares)


def test_what_everybody_was_given_does_not_count(book: Gradebook, tmp_path: Path) -> None:
    exercise = get_exercise("decoder")
    solution = solution_file("decoder").read_text(encoding="utf-8")
    texts = {"a": exercise.template_text(), "b": exercise.template_text(), "c": solution, "d": solution}
    enter(book, put(tmp_path / "in", {f"{name}/decoder.py": text for name, text in texts.items()}))
    found = compared(book)
    assert found.matches == []
    assert {reason.partition(":")[0] for _, _, reason in found.left_out} == {"too little code of its own"}
    assert len(found.left_out) == 4


def test_what_a_tenth_of_the_class_wrote_does_not_count(book: Gradebook, tmp_path: Path) -> None:
    count = similar.COMMON + 1
    files = {f"s{number:02}/decoder.py": f"# {number}\n{ORIGINAL}" for number in range(count)}
    enter(book, put(tmp_path / "in", files))
    assert compared(book).matches == []


def test_newest_attempts_of_different_students(book: Gradebook, tmp_path: Path) -> None:
    files = {
        "a/attempt1/decoder.py": ORIGINAL,
        "a/attempt2/decoder.py": renamed(ORIGINAL),  # of the same student
        "b/attempt1/decoder.py": ORIGINAL,
        "b/attempt2/decoder.py": RIGHT[1].read_text(),  # no longer similar
    }
    enter(book, put(tmp_path / "in", files))
    assert compared(book).matches == []


def test_a_group_that_handed_in_one_file_is_no_pair(book: Gradebook, tmp_path: Path) -> None:
    text = "---\nsubmission_1:\n  :submitters:\n  - :name: A\n    :sid: '1'\n  - :name: B\n    :sid: '2'\n"
    files = {"submission_1/decoder.py": ORIGINAL, "submission_metadata.yml": text}
    enter(book, put(tmp_path / "in", files))
    found = compared(book)
    assert found.compared == {"decoder": (2, 0)}


def test_hostile_files_are_text(book: Gradebook, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    trap = f"open({str(ran)!r}, 'w')\n{ORIGINAL}"
    folder = put(tmp_path / "in", {"a/decoder.py": trap, "b/decoder.py": trap, "e/decoder.py": ""})
    put(folder, {"c/decoder.py": "x = [" + "((((" * 20_000, "d/decoder.py": "'" * 90_000})
    put(folder, {"f/decoder.py": "# long\n" * 20_000})
    (folder / "g").mkdir()
    (folder / "g" / "decoder.py").write_bytes(bytes(range(256)) * 50)
    (folder / "h").mkdir()
    with (folder / "h" / "decoder.py").open("wb") as file:
        file.truncate(3 << 20)
    enter(book, folder)
    start = time.process_time()
    found = compared(book)
    assert time.process_time() - start < 60  # a bound on what hostile text can cost, far from what it does
    (pair,) = found.matches
    assert (pair.first.name, pair.second.name, pair.same, pair.share) == ("a", "b", True, 1.0)
    assert {name for _, name, _ in found.left_out} >= {"e", "f", "g", "h"}
    assert not ran.exists()


def test_names_are_hidden(book: Gradebook, tmp_path: Path) -> None:
    text = ORIGINAL + "\n# Anna Lee, with help of Ben Ode\n"
    enter(book, put(tmp_path / "in", {"Anna Lee/decoder.py": text, "Ben Ode/decoder.py": text}))
    names = Names(book, anonymous=True)
    found = similar.compare(book, names)
    texts = similar.sources(book, names, found.matches)
    shown = json.dumps(found.as_object()) + "".join(texts.values())
    similar.export(book, names, tmp_path / "out")
    shown += "".join(p.read_text() + str(p) for p in (tmp_path / "out").rglob("*") if p.is_file())
    for word in ("Anna", "Lee", "Ben", "Ode", "anna"):
        assert word not in shown
    assert shown.count("student-") > 4


def test_the_folders_that_dolos_and_jplag_take(zoo: Zoo, book: Gradebook, tmp_path: Path) -> None:
    files = {"a b/decoder.py": ORIGINAL, "base/decoder.py": RIGHT[1].read_text(), "../c": ""}
    enter(book, put(tmp_path / "in" / "x", files))
    book.close()
    done = zoo("class", "similar", "--export", "out dir")
    assert done.exit_code == 0, done.output
    place = tmp_path / "out dir" / "decoder"
    rows = list(csv.DictReader(io.StringIO((place / "info.csv").read_text(), newline="")))
    assert [row["full_name"] for row in rows] == ["a b", "base"]
    assert {(place / row["filename"]).read_text() for row in rows} == {ORIGINAL, files["base/decoder.py"]}
    inside = {one.name for one in (place / "submissions").iterdir()}
    assert len(inside) == 3  # JPlag: two students and the base code
    known = (place / "submissions" / similar.BASE / "decoder.py").read_text()
    assert solution_file("decoder").read_text() in known
    assert get_exercise("decoder").template_text() in known
    enter_it, dolos, jplag = similar.commands(Path("out dir"), "decoder")
    assert enter_it == "cd 'out dir/decoder'"
    for command in (dolos, jplag):
        assert command in done.stdout
        assert all((place / word).exists() for word in command.split() if word.startswith("submissions"))


def test_on_the_command_line(zoo: Zoo, book: Gradebook, tmp_path: Path) -> None:
    name = "=cmd() <b>"
    enter(book, put(tmp_path / "in", {f"{name}/decoder.py": ORIGINAL, "ben/decoder.py": ORIGINAL + HOSTILE}))
    book.close()
    shown = zoo("class", "similar", "--html", "page.html")
    assert shown.exit_code == 0, shown.output
    assert "decoder: compared 2 files, 1 pair." in shown.stdout
    assert "100%" in shown.stdout
    page = (tmp_path / "page.html").read_text()
    assert HOSTILE not in page
    assert "&lt;img src=x" in page
    data = json.loads(zoo("class", "similar", "--json").stdout)
    assert data["pairs"][0]["first"]["share"] == 1
    (row,) = csv.DictReader(io.StringIO(zoo("class", "similar", "--csv").stdout))
    assert row["first_name"].startswith("'=cmd()") or row["second_name"].startswith("'=cmd()")
    assert "No two files" in zoo("class", "similar", "--exercise", "norm").stdout
    assert zoo("class", "similar", "--csv", "--json").exit_code == 2
    assert zoo("class", "similar", "--export", "x", "--html", "y").exit_code == 2
    (tmp_path / "file").touch()
    done = zoo("class", "similar", "--export", "file/x")
    assert (done.exit_code, "cannot be written" in done.stderr) == (2, True)


def test_copies_in_a_synthetic_class_are_found_and_nobody_else(book: Gradebook, tmp_path: Path) -> None:
    students, exercises = 40, ("masks", "norm")
    made = write_class(tmp_path / "c", students=students, seed=3, exercises=exercises, copied=0.1)
    with made.truth.open(newline="", encoding="utf-8") as file:
        truth = list(csv.DictReader(file))
    copies = {frozenset((row["path"], row["copied_from"])) for row in truth if row["copied_from"]}
    assert len(copies) == made.copies == len(exercises) * students // 10
    texts = {row["path"]: (made.folder / row["path"]).read_bytes() for row in truth}
    assert not any(len({texts[path] for path in pair}) == 1 for pair in copies)
    enter(book, made.folder, made.roster)
    found = compared(book)
    assert {frozenset((one.first.path, one.second.path)) for one in found.matches} == copies
    assert all(files > students // 4 for files, _pairs in found.compared.values())  # it had a choice
