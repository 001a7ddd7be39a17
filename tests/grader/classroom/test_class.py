"""`zoo class grade` from a folder to grades: what goes on where it was, what is graded again, what is hostile."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.catalog import get_exercise, get_exercises
from grader.classroom import engines, grading, plan
from grader.classroom.gradebook import Gradebook
from grader.classroom.pool import Job, Outcome
from grader.classroom.synthetic import LAYOUTS, write_class
from tests import ROOT
from tests.grader.classroom.conftest import RIGHT, WRONG, Zoo, put

SOLUTION = (ROOT / "grader" / "exercises" / "masks" / "solution.py").read_text(encoding="utf-8")
WITHOUT = "shape,numerics,gradients,parameters,behaviour,training"  # only masking is left
GRADE = ("class", "grade", "in", "--skip", WITHOUT, "--sandbox", "process", "--seed", 3)


class FakePool:
    """In place of the pool: what a file says, it is."""

    runs: list[list[str]] = []  # noqa: RUF012 - reset by the fixture
    dies_after = -1

    def __init__(self, *_arguments: object) -> None:
        pass

    def __enter__(self) -> FakePool:
        return self

    def __exit__(self, *_exception: object) -> None:
        pass

    def run(self, jobs: list[Job]) -> Iterator[Outcome]:
        self.runs.append([job.source.decode() for job in jobs])
        for number, job in enumerate(jobs):
            if number == self.dies_after:
                raise KeyboardInterrupt
            if job.source == b"broken":
                yield Outcome(job, "broken", "KeyError: 'x'", tries=2)
            else:
                yield Outcome(
                    job, "graded", "", RIGHT if job.source.startswith(b"right") else WRONG, 1.0, 0.5
                )


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> type[FakePool]:
    monkeypatch.setattr(engines, "LocalPool", FakePool)
    monkeypatch.setattr(FakePool, "runs", [])
    return FakePool


def test_nothing_is_graded_twice(zoo: Zoo, fake: type[FakePool], tmp_path: Path) -> None:
    put(tmp_path / "in", {"a/masks.py": "right", "b/masks.py": "right", "c/masks.py": "wrong"})
    assert zoo(*GRADE).exit_code == 0
    assert fake.runs == [["right", "wrong"]] or fake.runs == [["wrong", "right"]]
    put(tmp_path / "in", {"d/masks.py": "right too"})
    done = json.loads(zoo(*GRADE, "--json").stdout)
    assert (done["new"], done["known"], done["graded_before"], done["states"]) == (1, 3, 2, {"graded": 1})
    assert fake.runs[1:] == [["right too"]]


def test_an_interrupted_run_continues(
    zoo: Zoo, fake: type[FakePool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "in", {f"{name}/masks.py": f"right {name}" for name in "abcdef"})
    monkeypatch.setattr(fake, "dies_after", 2)
    done = zoo(*GRADE)
    assert (done.exit_code, "run the same command to continue" in done.stderr) == (130, True)
    assert "2 of 6 submissions graded; 4 wait: run the same" in zoo("class", "status").stdout
    monkeypatch.setattr(fake, "dies_after", -1)
    assert zoo(*GRADE).exit_code == 0
    assert [len(run) for run in fake.runs] == [6, 4]
    status = json.loads(zoo("class", "status", "--json").stdout)
    assert (status["gradings"], status["waiting"], status["exercises"][0]["passed"]) == (6, 0, 6)
    monkeypatch.setattr(fake, "dies_after", 2)
    done = zoo("class", "regrade", *GRADE[3:], "--force")
    assert "with --force, the same command grades all its files again" in " ".join(done.stderr.split())


def test_a_broken_grader_is_told_apart_and_tried_again(
    zoo: Zoo, fake: type[FakePool], tmp_path: Path
) -> None:
    put(tmp_path / "in", {"a/masks.py": "broken", "b/masks.py": "right"})
    done = zoo(*GRADE)
    assert (done.exit_code, "1 file not graded: internal error of the grader." in done.stdout) == (1, True)
    status = zoo("class", "status").stdout
    assert "Needs a decision" in status
    assert "KeyError: 'x'" in status
    assert "KeyError: 'x'" in zoo("class", "show", "a").stdout
    zoo(*GRADE)
    assert fake.runs[1:] == [["broken"]]


def test_regrading_after_a_changed_test(
    zoo: Zoo, fake: type[FakePool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "in", {"a/masks.py": "right", "b/masks.py": "wrong", "b/norm.py": "right norm"})
    zoo(*GRADE)
    again = ("class", "regrade", *GRADE[3:])
    assert zoo(*again).exit_code == 0
    assert len(fake.runs) == 1  # this version has graded all
    real = grading.fingerprint
    monkeypatch.setattr(grading, "fingerprint", lambda exercise: real(exercise) + "x" * (exercise == "masks"))
    done = zoo(*GRADE).stdout
    assert "2 files graded before by another version" in " ".join(done.split())
    assert len(fake.runs) == 1
    for only in ("failed", "student=a", "exercise=masks"):
        zoo(*again, "--only", only)
    assert fake.runs[1:] == [["wrong"], ["right"]]
    zoo(*again, "--only", "exercise=norm", "--force")
    zoo(*again, "--only", "student=b", "--only", "failed", "--force")
    zoo(*again, "--only", "since=2020-01-01", "--only", "exercise=masks", "--force")
    assert [sorted(run) for run in fake.runs[3:]] == [["right norm"], ["wrong"], ["right", "wrong"]]


def test_the_tests_and_the_seed_of_the_last_run_are_remembered(
    zoo: Zoo, fake: type[FakePool], tmp_path: Path
) -> None:
    put(tmp_path / "in", {"a/masks.py": "right", "b/masks.py": "wrong"})
    grade, again = (
        ("class", "grade", "in", "--sandbox", "process"),
        ("class", "regrade", "--sandbox", "process"),
    )

    def keys() -> list[tuple[int, str]]:
        with Gradebook(tmp_path / "gradebook.sqlite") as book:
            return [(row["seed"], row["selection"]) for row in book.all("SELECT * FROM gradings ORDER BY id")]

    zoo(*grade, "--skip", "training", "--seed", 3)
    first = keys()
    assert first == [(3, "shape,masking,numerics,gradients,parameters,behaviour")] * 2
    done = zoo(*again, "--only", "student=a", "--force")
    assert "As in the last run: all tests but training." in done.stdout
    put(tmp_path / "in", {"c/masks.py": "right too"})
    assert "Would grade 1 file (2 graded before)." in zoo(*grade, "--dry-run").stdout
    zoo(*grade)
    assert keys() == first * 2
    zoo(*again, "--only", "student=a", "--skip", "none", "--seed", 4)  # for this run alone
    assert keys()[4:] == [(4, first[0][1] + ",training")]
    words = " ".join(zoo("class", "status").stdout.split())
    assert "different tests (all tests but training; all tests)" in words
    assert zoo(*again).exit_code == 0
    assert keys()[5:] == first[:1]
    assert "different tests" not in zoo("class", "status").stdout


@pytest.mark.parametrize(
    ("only", "sentence"),
    [
        (["since=2999-01-01"], "matches --only since=2999-01-01"),
        (["student=a", "failed"], "matches --only student=a, failed"),
        (["student=nobody"], "No student is called 'nobody'"),
        (["since=soon"], "not a valid date"),
        (["exercise=mask"], "Did you mean masks"),
        (["exercise"], "expected exercise=NAME"),
        (["failed=yes"], "expected failed."),
        (["late"], "expected failed, exercise=NAME, student=STUDENT, since=WHEN"),
        (["failed", "failed"], "given twice"),
    ],
)
def test_what_regrade_cannot_select(
    zoo: Zoo, fake: type[FakePool], tmp_path: Path, only: list[str], sentence: str
) -> None:
    put(tmp_path / "in", {"a/masks.py": "right"})
    zoo(*GRADE)
    done = zoo("class", "regrade", *GRADE[3:], *(word for one in only for word in ("--only", one)))
    assert (done.exit_code, sentence in " ".join(done.stderr.split())) == (2, True), done.stderr
    assert len(fake.runs) == 1


def test_versions_change_with_the_exercise_and_its_siblings() -> None:
    assert grading.fingerprint("masks") != grading.fingerprint("norm")
    packages = grading._packages(get_exercise("decoder").test_files()[0].parent.parent)
    assert {"decoder", "encoder_and_decoder"} <= {one.name for one in packages}


def test_a_dry_run_writes_nothing_and_says_what_it_would_do(
    zoo: Zoo, fake: type[FakePool], tmp_path: Path
) -> None:
    put(tmp_path / "in", {"a/masks.py": "right", "b/masks.py": "right", "b/norm.py": "x", "b/notes.txt": "y"})
    dry = (*GRADE, "--jobs", 1, "--dry-run")
    done = zoo(*dry)
    words = " ".join(done.stdout.split())
    assert (done.exit_code, "b/notes.txt" in words) == (0, True)
    assert "Would grade 2 files (0 graded before, 1 submission equal to another one)." in words
    assert "norm 1" in words
    assert "typical, not measured here" in words
    assert "on 1 free core." in words
    assert json.loads(zoo(*dry, "--json").stdout)["unplaced"][0]["path"] == "b/notes.txt"
    assert [one.name for one in tmp_path.iterdir()] == ["in"]
    zoo(*GRADE)
    put(tmp_path / "in", {"c/masks.py": "right too", "d/masks.py": "wrong"})
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()}
    found = json.loads(zoo(*dry, "--json").stdout)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir() if one.is_file()} == before
    assert (found["graded_before"], found["equal"], len(found["submissions"])) == (2, 1, 5)
    assert found["to_grade"] == [
        {"exercise": "masks", "files": 2, "cpu_s": 0.5, "grades": 1}
    ]  # as FakePool says
    assert found["expected_s"] == 2 * 0.5 + plan.START_S
    assert "2 graded before" in zoo(*dry).stdout
    other = json.loads(zoo(*dry, "--skip", "training", "--json").stdout)  # other tests: all is graded anew
    assert (other["graded_before"], [one["files"] for one in other["to_grade"]]) == (0, [3, 1])
    assert fake.runs == [fake.runs[0]]


def test_every_exercise_has_a_typical_cost() -> None:
    assert plan.TYPICAL.keys() == get_exercises().keys()
    assert all(0 < without < whole for without, whole in plan.TYPICAL.values())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("status",), "There is no gradebook"),
        (("grade", "missing"), "There is no folder"),
        (("grade", "in"), "no submission that can be graded"),
        (("grade", "in", "--roster", "none.csv"), "cannot be read"),
        (("show", "anna"), "There is no gradebook"),
        (("late", "--due", "soon"), "not a valid date"),
    ],
)
def test_wrong_usage(zoo: Zoo, tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    (tmp_path / "in").mkdir()
    done = zoo("class", *words)
    assert (done.exit_code, sentence in " ".join(done.stderr.split())) == (2, True)


METADATA = """---
submission_1:
  :submitters:
  - :name: ../../x.py
    :sid: '../../../y'
    :email: ../../z@x
"""


def test_names_that_are_paths_lead_nowhere(zoo: Zoo, fake: type[FakePool], tmp_path: Path) -> None:
    work = tmp_path / "deep" / "down" / "here"
    folder = put(work / "in", {"submission_1/masks.py": "right", "submission_metadata.yml": METADATA})
    put(folder, {"..\\..\\z_masks.py": "wrong", "...masks.py": "right", "..p/masks.py": "right too"})
    book = ("--gradebook", work / "g.sqlite")
    assert zoo("class", "grade", work / "in", *GRADE[3:], *book).exit_code == 0
    for form in ("feedback", "gradescope"):
        done = zoo("class", "export", form, "--exercise", "masks", "-o", work / form, *book)
        assert done.exit_code == 0, done.output
        assert len(list((work / form).iterdir())) == 4
    assert zoo("class", "report", "-o", work / "report", *book).exit_code == 0
    assert zoo("class", "similar", "--export", work / "similar", *book).exit_code == 0
    outside = [one for one in tmp_path.rglob("*") if one.is_file() and not one.is_relative_to(work)]
    assert outside == []


def test_a_folder_of_links_is_told_apart_link_by_link(zoo: Zoo, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("secret")
    (tmp_path / "in").mkdir()
    for name in ("a_masks.py", "b_masks.py"):
        (tmp_path / "in" / name).symlink_to(tmp_path / "secret.py")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    done = zoo(*GRADE)
    assert (done.exit_code, "no submission that can be graded" in done.stderr) == (2, True)
    assert done.stdout.count("is a symbolic link, which is not followed") == 3


def test_an_odd_roster_on_the_command_line(zoo: Zoo, fake: type[FakePool], tmp_path: Path) -> None:
    text = "Name;Email\r\nMüller, Jürgen;j@x\r\nMüller, Jürgen;j@x\r\nLee, Anna;a@x\r\nLee, Anna;b@x\r\n"
    (tmp_path / "r.csv").write_bytes(text.encode("utf-16"))
    put(tmp_path / "in", {"Jürgen Müller/masks.py": "right", "Anna Lee/masks.py": "wrong"})
    done = zoo(*GRADE, "--roster", "r.csv")
    words = " ".join(done.stdout.split())
    assert done.exit_code == 0, done.output
    assert "read as utf-16" in words
    assert "Jürgen Müller is there twice; taken once." in words
    assert "2 students can be meant by 'Anna Lee'; kept as a student of its own." in words
    assert len(json.loads(zoo(*GRADE, "--roster", "r.csv", "--json").stdout)["notes"]) == 4
    status = json.loads(zoo("class", "status", "--json").stdout)
    assert (status["students"], status["in_roster"], status["gradings"]) == (4, 3, 2)


def test_a_damaged_gradebook_is_restored_as_its_sentence_says(
    zoo: Zoo, fake: type[FakePool], tmp_path: Path
) -> None:
    put(tmp_path / "in", {f"s{number}/masks.py": f"right {number}" * 99 for number in range(20)})
    zoo(*GRADE)
    zoo(*GRADE)  # which makes a backup of all grades
    book = tmp_path / "gradebook.sqlite"
    damaged = book.read_bytes()[:20_000]
    book.write_bytes(damaged)
    for words in (GRADE, ("class", "regrade", *GRADE[3:]), ("class", "status"), ("class", "misconceptions")):
        done = zoo(*words)
        said = " ".join(done.stderr.split())
        assert (done.exit_code, "is damaged" in said, "The newest backup is" in said) == (2, True, True)
    assert book.read_bytes() == damaged
    backup = max((tmp_path / "gradebook.sqlite.backups").iterdir())
    book.write_bytes(backup.read_bytes())
    assert zoo(*GRADE).exit_code == 0
    assert len(fake.runs) == 1  # nothing was graded twice
    assert json.loads(zoo("class", "status", "--json").stdout)["gradings"] == 20


HOSTILE = {
    "good/masks.py": SOLUTION,
    "leaves/masks.py": "import os\nos._exit(0)\n",
    "forges/masks.py": SOLUTION + '\nimport sys\nsys.stdout.write(\'{"id": 0, "state": "graded"}\\n\')\n',
    "kills/masks.py": "import os\nos.kill(os.getppid(), 9)\n",
    "bytes/masks.py": "\0",
}


@pytest.mark.slow
def test_a_hostile_class_with_real_judges(zoo: Zoo, tmp_path: Path) -> None:
    put(tmp_path / "in", HOSTILE)
    (tmp_path / "in" / "huge").mkdir()
    with (tmp_path / "in" / "huge" / "masks.py").open("wb") as file:
        file.truncate(100 << 20)
    done = zoo(*GRADE, "--jobs", 1)
    assert done.exit_code == 0, done.output
    with Gradebook(tmp_path / "gradebook.sqlite") as book:
        rows = book.all(
            "SELECT t.name, g.state, g.reason, g.points FROM submissions s JOIN students t ON t.id = s.student "
            "JOIN gradings g USING (sha256)"
        )
    states = {row["name"]: row["state"] for row in rows}
    assert states.keys() == {name.partition("/")[0] for name in HOSTILE} | {"huge"}
    assert "broken" not in states.values()
    assert {row["name"] for row in rows if row["points"]} == {"good", "forges"}  # printing is not forbidden
    assert "100.0 MB" in next(row["reason"] for row in rows if row["name"] == "huge")
    assert states["leaves"] == "unloadable"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_synthetic_classes_are_found_whole(
    zoo: Zoo, fake: type[FakePool], tmp_path: Path, layout: str
) -> None:
    options = {"students": 12, "seed": 5, "exercises": ("masks", "norm"), "attempts": 2}
    written = write_class(tmp_path / "c", layout=layout, **options)  # type: ignore[arg-type]
    again = write_class(tmp_path / "d", layout=layout, **options)  # type: ignore[arg-type]
    assert written.kinds == again.kinds
    assert written.roster.read_bytes() == again.roster.read_bytes()
    done = zoo(
        "class", "grade", "c/submissions", "--roster", "c/roster.csv", "--sandbox", "process", "--json"
    )
    assert json.loads(done.stdout)["new"] == sum(written.kinds.values())
    status = json.loads(zoo("class", "status", "--json").stdout)
    assert (status["students"], status["in_roster"], status["without_submission"]) == (12, 12, [])
    assert status["unplaced"] == []


def test_a_synthetic_class_on_the_command_line(zoo: Zoo, tmp_path: Path) -> None:
    assert zoo("dev", "class", "c", "--students", 3).exit_code == 0
    assert zoo("dev", "class", "c").exit_code == 2
    assert zoo("dev", "class", "d", "--layout", "x").exit_code == 2


def test_help_imports_no_torch_and_no_database() -> None:
    script = (
        "import sys\nfrom click.testing import CliRunner\nfrom zoo.cli.root import make_cli\n"
        "from zoo.core.plugins import get_plugins\n"
        "for words in (['--help'], ['class', '--help'], ['class', 'grade', '--help']):\n"
        "    done = CliRunner().invoke(make_cli(get_plugins()), words)\n    assert done.exit_code == 0, done.output\n"
        "print(sorted({'torch', 'sqlite3', 'pytest'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def grades(path: Path) -> list[tuple[object, ...]]:
    """What must not depend on how often a run was killed."""
    with Gradebook(path) as book:
        finals = book.all(
            "SELECT t.key, f.exercise, f.state, f.points, f.max_points, f.note FROM finals f "
            "JOIN students t ON t.id = f.student ORDER BY t.key, f.exercise"
        )
        results = book.all(
            "SELECT g.exercise, g.sha256, g.state, g.reason, r.name, r.status, r.points, r.message FROM gradings g "
            "LEFT JOIN results r ON r.grading = g.id ORDER BY g.exercise, g.sha256, r.place"
        )
        mistakes = book.all(
            "SELECT g.exercise, g.sha256, d.mistake, d.test FROM gradings g JOIN diagnoses d ON d.grading = g.id "
            "ORDER BY g.exercise, g.sha256, d.place"
        )
    return [tuple(row) for row in (*finals, *results, *mistakes)]


@pytest.mark.slow
def test_killed_at_random_moments_it_ends_as_an_undisturbed_run(tmp_path: Path) -> None:
    """`python -m tests.bench.classes kills` does the same with 300 files and ten kills."""
    write_class(tmp_path / "c", students=16, seed=8, exercises=("masks",), hostile=0.0)
    words = [sys.executable, "-c", "from zoo.cli import main; main()", "class", "grade", "c/submissions"]
    words += ["--roster", "c/roster.csv", "--seed", "1", "--skip", "training"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}

    def command(book: str, jobs: int) -> subprocess.Popen[bytes]:
        whole = [*words, "--gradebook", book, "--jobs", str(jobs)]
        return subprocess.Popen(
            whole, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )

    with command("undisturbed", 1) as run:
        _, said = run.communicate()
    assert run.returncode == 0, said
    draw = random.Random(0)
    counts = []
    for _ in range(2):
        with command("disturbed", 2) as run:
            wanted = (counts[-1] if counts else 0) + draw.randint(1, 5)
            while run.poll() is None and done(tmp_path / "disturbed") < wanted:
                time.sleep(0.01)
            time.sleep(draw.random() / 10)
            run.send_signal(signal.SIGKILL)
        counts.append(done(tmp_path / "disturbed"))
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[-1] < done(tmp_path / "undisturbed")
    with command("disturbed", 2) as run:
        _, said = run.communicate()
    assert run.returncode == 0, said
    assert grades(tmp_path / "disturbed") == grades(tmp_path / "undisturbed")
    with Gradebook(tmp_path / "disturbed") as book:
        assert not book.all(
            "SELECT exercise, sha256 FROM gradings GROUP BY exercise, sha256 HAVING count(*) > 1"
        )


def done(path: Path) -> int:
    """How many gradings another process has committed."""
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            found = int(db.execute("SELECT count(*) FROM gradings").fetchone()[0])
        db.close()
    except sqlite3.Error:
        return 0
    return found
