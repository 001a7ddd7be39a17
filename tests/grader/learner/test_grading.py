"""What a grade leaves in the record, and what it does not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.catalog import Exercise, get_exercise
from grader.cli.exercises import chosen_file
from grader.core.failures import Named
from grader.core.results import Grade, Result
from grader.core.spots import Spot
from grader.learner.folder import Folder
from grader.learner.grading import after, failed_component, home_of
from grader.learner.record import FILE_NAME, HEADER, Entry, read, update
from grader.run.run import Request
from tests import solution_file
from tests.grader.learner.conftest import Run

SCALE = Named("missing-scale", "The scores are not scaled.", hint="How long\nis a dot product?")
PASSED = Result("f.test_shape", "shapes", "shape", "passed", 2, 2)
FAILED = Result("f.test_n", "MultiHeadAttention: numbers", "numerics", "failed", 0, 3, "got 2", (SCALE,))
BROKEN = Result("f.test_x", "grader's own", "behaviour", "error", 0, 1)


def graded(*results: Result, selection: str = "", exercise: str = "attention") -> Grade:
    one = get_exercise(exercise)
    return Grade(one.name, one.title, one.file, one.components, "cpu", 7, results, 1.0, selection)


def test_a_failed_grade_is_tried_with_what_it_named() -> None:
    found = after(Entry(), graded(PASSED, FAILED))
    assert found == Entry(
        "tried", "2/5", ("missing-scale",), "MultiHeadAttention", {}, "How long is a dot product?"
    )


def test_only_a_whole_grade_solves() -> None:
    assert after(Entry(), graded(PASSED)).state == "solved"
    for selection in (" --only shape", " --skip training", " --quick"):
        assert after(Entry(), graded(PASSED, selection=selection)) == Entry("tried")
        assert after(Entry("solved", "2/2"), graded(PASSED, selection=selection)) == Entry("solved", "2/2")
        found = after(Entry(), graded(FAILED, selection=selection))
        assert (found.state, found.points, found.mistakes) == ("tried", "", ("missing-scale",))


def test_what_is_solved_stays_solved_and_the_mistakes_are_those_of_the_last_grade() -> None:
    solved = after(after(Entry(), graded(FAILED)), graded(PASSED))
    assert solved == Entry("solved", "2/2")
    again = after(solved, graded(PASSED, FAILED))
    assert (again.state, again.points, again.mistakes) == ("solved", "2/2", ("missing-scale",))


def test_a_broken_grader_changes_nothing() -> None:
    entry = Entry("tried", "1/5", ("other",))
    assert after(entry, graded(PASSED, BROKEN)) == entry


def test_hints_on_a_mistake_that_is_gone_are_forgotten_and_those_on_components_stay() -> None:
    entry = Entry("tried", hints={"old": 1, "missing-scale": 1, "MultiHeadAttention": 2})
    assert after(entry, graded(FAILED)).hints == {"missing-scale": 1, "MultiHeadAttention": 2}


def test_the_component_is_the_one_that_the_first_failure_speaks_of() -> None:
    unnamed = replace(FAILED, title="numbers", mistakes=())
    assert failed_component(graded(unnamed)) == ""
    spoken = replace(unnamed, message="scaled_dot_product_attention is not written yet")
    assert failed_component(graded(PASSED, spoken, FAILED)) == "scaled_dot_product_attention"


def test_where_a_grade_counts(tmp_path: Path) -> None:
    exercise = get_exercise("attention")
    file = tmp_path / "attention.py"
    assert home_of(file, exercise) is None
    file.touch()
    assert home_of(file, exercise) is None
    (tmp_path / FILE_NAME).write_text("Monday: went for a walk\n")
    assert home_of(file, exercise) is None
    (tmp_path / FILE_NAME).write_text(HEADER[0])
    assert home_of(file, exercise) is not None
    assert home_of(tmp_path / "anna.py", exercise) is None
    assert home_of(tmp_path / "feedforward.py", exercise) is None


@pytest.fixture
def graders(monkeypatch: pytest.MonkeyPatch) -> list[Result]:
    """What every grade finds; nothing is run."""
    found = [PASSED]

    def grade_file(request: Request, _progress: Any) -> Grade:
        return replace(
            graded(*found, selection=request.selection, exercise=request.exercise.name), file=request.file
        )

    monkeypatch.setattr("grader.run.run.grade_file", grade_file)
    return found


def test_grade_without_a_file_goes_from_exercise_to_exercise(
    run: Run, three: list[Exercise], graders: list[Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("start", "mine")
    for number, one in enumerate(three):
        done = run("grade") if number else run("grade", f"mine/{one.file}")
        assert (done.code, done.out.startswith(f"Graded {'mine/' * (not number)}{one.file}:")) == (0, True)
        assert read(tmp_path / "mine").entry(one.name) == Entry("solved", "2/2")
        if number == 0:
            monkeypatch.chdir(tmp_path / "mine")
    done = run("grade")
    assert (done.code, done.stdout) == (2, "")
    assert "All exercises are solved." in done.err


def test_exercise_without_a_file_is_the_one_of_the_folder(
    run: Run, three: list[Exercise], graders: list[Result]
) -> None:
    run("start", "exercises")
    assert run("grade", "--exercise", "again").out.startswith("Graded exercises/again.py:")


def test_partial_grades_other_names_and_other_folders_solve_nothing(
    run: Run, three: list[Exercise], graders: list[Result], tmp_path: Path
) -> None:
    run("start", "mine")
    progress = tmp_path / "mine" / FILE_NAME
    before = progress.read_bytes()
    (tmp_path / "mine" / "anna.py").touch()
    (tmp_path / "package").mkdir()
    for name in ("__init__.py", "attention.py"):
        (tmp_path / "package" / name).touch()
    for words in (
        ("mine/anna.py", "--exercise", "attention"),
        ("mine/feedforward.py", "--exercise", "attention"),
        ("package/attention.py",),
    ):
        assert run("grade", *words).code == 0
    assert progress.read_bytes() == before
    for some in (("--quick",), ("--only", "shape"), ("--skip", "shape")):
        assert run("grade", "mine/attention.py", *some).code == 0
    assert progress.read_bytes() == before + b"attention: tried\n"
    assert not (tmp_path / "package" / FILE_NAME).exists()


def test_a_class_of_folders_gets_no_progress_files(
    run: Run, three: list[Exercise], graders: list[Result], tmp_path: Path
) -> None:
    (tmp_path / "attention").mkdir()
    for name in ("anna", "ben"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "attention.py").touch()
    update(tmp_path / "ben", "attention", lambda _: Entry("tried"))
    (tmp_path / "attention" / "chris.py").touch()
    assert run("grade", "anna/attention.py", "ben/attention.py").code == 0
    assert run("grade", "anna/attention.py").code == 0
    assert run("grade", "attention/chris.py").out.startswith("Graded attention/chris.py:")
    assert {one.name for one in (tmp_path / "anna").iterdir()} == {"attention.py"}
    assert {one.name for one in (tmp_path / "attention").iterdir()} == {"chris.py"}
    assert read(tmp_path / "ben").entry("attention").state == "solved"


def test_a_record_that_cannot_be_written_is_a_sentence_beside_the_grade(
    run: Run,
    three: list[Exercise],
    graders: list[Result],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run("start", ".")

    def read_only(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("grader.learner.files.os.fsync", read_only)
    done = run("grade", "attention.py", "--format", "json")
    assert done.code == 0
    assert done.stdout.startswith("{")
    assert "Your progress was not saved;" in done.err
    assert "progress.txt' cannot be written: Read-only file system." in done.err


@pytest.mark.parametrize("kind", ["directory", "notes"])
def test_something_else_called_progress_txt_is_left_alone(
    run: Run, three: list[Exercise], graders: list[Result], tmp_path: Path, kind: str
) -> None:
    (tmp_path / "attention.py").touch()
    path = tmp_path / FILE_NAME
    path.mkdir() if kind == "directory" else path.write_text("Monday: went for a walk\n")
    done = run("grade", "attention.py")
    assert (done.code, done.err) == (0, "")
    assert {one.name for one in tmp_path.iterdir()} == {"attention.py", FILE_NAME}
    assert path.is_dir() or path.read_text() == "Monday: went for a walk\n"


@pytest.mark.parametrize("left", [HEADER[0].encode()[:30], b"", b"\xff\xfe\x00\x01", b"PK\x00"])
def test_a_damaged_record_is_named_by_every_command_and_left_as_it_is(
    run: Run, three: list[Exercise], graders: list[Result], tmp_path: Path, left: bytes
) -> None:
    run("start", "m n")
    path = tmp_path / "m n" / FILE_NAME
    path.write_bytes(left)
    sentence = (
        "m n/progress.txt is not a progress file of zoo, or is damaged: nothing is saved in it until you fix it, "
        "or remove it and run `zoo start 'm n'`."
    )
    graders[:] = [FAILED]
    for words, code in (
        (("start", "m n"), 0),
        (("progress", "m n"), 0),
        (("hint", "m n/attention.py"), 0),
        (("hint", "m n/attention.py", "--all"), 0),
        (("grade", "m n/attention.py"), 1),
    ):
        done = run(*words)
        assert (done.code, done.err, path.read_bytes()) == (code, sentence, left)
        assert "no progress file" not in done.out
    graders[:] = [PASSED]
    done = run("grade", "m n/feedforward.py", "--format", "json")
    assert (done.code, done.err, path.read_bytes()) == (0, sentence, left)


def test_a_damaged_record_is_named_once_where_no_file_is_given(
    run: Run, three: list[Exercise], graders: list[Result], tmp_path: Path
) -> None:
    run("start", ".")
    (tmp_path / FILE_NAME).write_bytes(b"")
    done = run("grade")
    assert (done.code, done.err.count("is damaged"), "no progress file" in done.err) == (0, 1, False)


def test_the_default_file_in_a_folder_without_a_progress_file_comes_with_a_note(
    run: Run, three: list[Exercise], graders: list[Result], tmp_path: Path
) -> None:
    (tmp_path / "attention.py").touch()
    done = run("grade")
    assert done.out.startswith("Graded attention.py:")
    assert "no progress file, so grades are not recorded. `zoo start .` adds one." in done.err
    assert {one.name for one in tmp_path.iterdir()} == {"attention.py"}
    run("start", ".")
    assert run("grade").err == ""
    assert read(tmp_path).entry("attention").state == "solved"


def test_the_command_in_the_note_is_quoted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("grader.learner.folder.need_folder", lambda: Folder(Path("my é")))
    chosen_file("attention")
    assert "`zoo start 'my é'` adds one." in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_a_real_grade_names_a_mistake_and_the_next_one_solves(run: Run, tmp_path: Path) -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8")
    run("start", ".")
    (tmp_path / "feedforward.py").write_text(text.replace(".relu()", ".sigmoid()"))
    done = run("grade", "feedforward.py", "--quick")
    assert (done.code, done.stderr) == (1, "")
    hints = [run("hint", "feedforward").out for _ in range(3)]
    assert "FeedForward.forward" in hints[0]
    assert "line 23" in hints[1]
    assert "other-activation" in hints[2]
    (tmp_path / "feedforward.py").write_text(text)
    done = run("grade", "feedforward.py")
    assert (done.code, "zoo solution feedforward.py" in done.out) == (0, True)
    entry = read(tmp_path).entry("feedforward")
    assert (entry.state, entry.mistakes, entry.points) == ("solved", (), "16/16")
    assert run("solution", "feedforward").stdout == text


def test_the_place_is_kept_and_its_hints_as_long_as_it_is_the_same(tmp_path: Path) -> None:
    def at(line: int) -> Grade:
        return graded(replace(FAILED, where=Spot(line, line, region="MultiHeadAttention.forward")))

    first = after(Entry(), at(14))
    assert first.place == "14 MultiHeadAttention.forward"
    seen = replace(first, hints={"place": 2})
    assert after(seen, at(14)).hints == {"place": 2}
    assert after(seen, at(15)).hints == {}
    assert after(seen, graded(PASSED)).place == ""
    update(tmp_path, "attention", lambda _: seen)
    assert read(tmp_path).entry("attention") == seen
