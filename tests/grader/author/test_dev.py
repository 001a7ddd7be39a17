"""`zoo dev check` and `zoo dev new-exercise`."""

import csv
import itertools
import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from grader.author.matrix import matrix, rows_of, variants
from grader.author.proofs import Examined, examine
from grader.catalog import Exercise, get_exercise, get_mistakes
from tests import solution_file
from tests.grader.processes import ZOO
from zoo.cli.root import make_cli
from zoo.core.plugins import get_plugins

_numbers = itertools.count()


def zoo(*arguments: str) -> Result:
    return CliRunner().invoke(make_cli(get_plugins()), arguments, prog_name="zoo")


def failing(one: Examined) -> dict[str, tuple[str, ...]]:
    return {proof.claim: proof.problems for proof in one.proofs if proof.problems}


@pytest.mark.slow
def test_an_exercise_holds_and_its_matrix_is_written_in_order(tmp_path: Path) -> None:
    """In two processes, which end in any order and find what one process finds."""
    result = zoo("dev", "check", "feedforward", "--jobs=2", "--output", str(tmp_path / "matrix.csv"))
    assert result.exit_code == 0, result.output
    assert "All checks passed." in result.output
    with (tmp_path / "matrix.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    exercise, known = get_exercise("feedforward"), get_mistakes("feedforward")
    of_each = [m.id for m in known for _ in range(variants(exercise, m))]
    assert [row["mistake"] for row in rows] == of_each
    assert all(row["killed_by"] and row["named"] == row["mistake"] and not row["problem"] for row in rows)
    assert [p.name for p in tmp_path.iterdir()] == ["matrix.csv"]
    alone = [one for mistake in known[:4] for one in rows_of(exercise, mistake.id, 0)]
    found = [(row["killed_by"], row["seen_by"]) for row in rows[: len(alone)]]
    assert found == [(one.killed_by, " ".join(one.seen_by)) for one in alone]


def test_one_way_of_writing_a_mistake_goes_round() -> None:
    exercise = get_exercise("feedforward")
    mistake = next(m for m in get_mistakes("feedforward") if variants(exercise, m) > 1)
    every = rows_of(exercise, mistake.id, 0)
    for number in range(len(every) + 1):
        assert rows_of(exercise, mistake.id, 0, number) == [every[number % len(every)]]


def test_with_one_way_of_writing_each_mistake_no_test_is_called_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.author.matrix.get_mistakes", lambda _name: get_mistakes("feedforward")[:1])
    whole, part = (examine(get_exercise("feedforward"), 0, variant=one) for one in (None, 1))
    assert "every test catches a mistake" in failing(whole)
    assert failing(part) == {}
    assert len(part.rows) == 1


def test_a_surviving_and_a_misnamed_mistake_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    known = get_mistakes("feedforward")
    harmless = replace(known[0], named=replace(known[0].named, id="harmless"), patch=lambda steps: steps)
    other = replace(known[1], named=replace(known[1].named, id="other-name"))
    monkeypatch.setattr("grader.author.matrix.get_mistakes", lambda _name: (harmless, other))
    rows = matrix(get_exercise("feedforward"), seed=0)
    assert [row.problem for row in rows] == ["not caught: no test failed", f"named {known[1].id}"]


def copied(into: Path, monkeypatch: pytest.MonkeyPatch) -> Exercise:
    """The exercise `feedforward` from a copy of its package, which may be changed."""
    package = f"odd_{next(_numbers)}"
    shutil.copytree(solution_file("feedforward").parent, into / package)
    monkeypatch.syspath_prepend(into)
    return replace(get_exercise("feedforward"), package=package)


def test_a_test_that_kills_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    only = [m for m in get_mistakes("feedforward") if m.id == "bias-missing"]
    monkeypatch.setattr("grader.author.matrix.get_mistakes", lambda _name: only)
    found = failing(examine(get_exercise("feedforward"), seed=0))
    assert list(found) == ["every test catches a mistake"]
    assert "class.test_input_left_alone" in found["every test catches a mistake"]


def test_an_exercise_that_is_solved_as_shipped_or_lacks_hints_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("grader.author.matrix.get_mistakes", lambda _name: ())
    odd = copied(tmp_path, monkeypatch)
    package = tmp_path / odd.package
    shutil.copy(package / "solution.py", package / "template.py")
    (package / "hints.py").write_text("HINTS = {}\n", encoding="utf-8")
    found = failing(examine(odd, seed=0))
    assert any("passes on the untouched template" in problem for problem in sum(found.values(), ()))
    assert any("FeedForward has 0 hints" in problem for problem in found.popitem()[1])


def test_a_broken_solution_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.author.matrix.get_mistakes", lambda _name: ())
    odd = copied(tmp_path, monkeypatch)
    shutil.copy(solution_file("attention"), tmp_path / odd.package / "solution.py")
    assert any("FeedForward" in problem for problem in sum(failing(examine(odd, seed=0)).values(), ()))


@pytest.mark.parametrize("name", ["Norm", "2d", "class", "rms-norm", "x", ""])
def test_a_name_that_is_none_is_refused(name: str, tmp_path: Path) -> None:
    result = zoo("dev", "new-exercise", "--into", str(tmp_path), "--", name)
    assert result.exit_code == 2
    assert "expected a lower-case Python name" in result.output
    assert not list(tmp_path.iterdir())


def test_the_command_that_installs_it_is_quoted(tmp_path: Path) -> None:
    made = zoo("dev", "new-exercise", "fresh_one", "--into", str(tmp_path / "a b"))
    assert f"pip install -e '{tmp_path / 'a b' / 'zoo-fresh-one'}'\n" in made.output


def test_a_taken_name_and_a_taken_folder_are_refused(tmp_path: Path) -> None:
    assert "already" in zoo("dev", "new-exercise", "attention", "--into", str(tmp_path)).output
    (tmp_path / "zoo-fresh-one").mkdir()
    assert "already" in zoo("dev", "new-exercise", "fresh_one", "--into", str(tmp_path)).output
    assert not list((tmp_path / "zoo-fresh-one").iterdir())


@pytest.mark.slow
def test_a_file_of_a_new_exercise_is_graded_with_its_words(tmp_path: Path) -> None:
    """That a new exercise holds from the start, docs/write-an-exercise.md shows, whose commands are run."""
    assert zoo("dev", "new-exercise", "rms_norm", "--into", str(tmp_path)).exit_code == 0
    package = tmp_path / "zoo-rms-norm"
    info = package / "zoo_rms_norm-0.1.0.dist-info"  # what pip would write
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: zoo-rms_norm\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[zoo]\nrms_norm = zoo_rms_norm\n")
    wrong = tmp_path / "rms_norm.py"
    solution = (package / "zoo_rms_norm" / "solution.py").read_text()
    assert ".mean(" in solution
    wrong.write_text(solution.replace(".mean(", ".sum("))
    done = subprocess.run(
        [*ZOO, "grade", str(wrong), "--format", "html", "--quick"],
        env={**os.environ, "PYTHONPATH": str(package)},
        capture_output=True,
        text=True,
    )
    assert re.search(r"Rows: position; columns: feature. This is sentence \d, counted from 0", done.stdout)


def test_unwritable_matrix_is_a_sentence(tmp_path: Path) -> None:
    result = zoo("dev", "check", "feedforward", "--output", str(tmp_path / "none" / "m.csv"))
    assert result.exit_code == 2
    assert "does not exist" in " ".join(result.output.split())
