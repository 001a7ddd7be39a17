"""`zoo quiz`: one change in right code, and what it does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Run

from grader.catalog import get_exercise
from grader.cli.quiz import quiz
from grader.core.results import Grade, Result, Status
from grader.core.spots import Spot
from grader.learner.quiz import TRAINING, question
from grader.run.run import Request
from tests import solution_file
from zoo.core.errors import ZooError

pytestmark = pytest.mark.usefixtures("commands_share_a_sandbox")


def run(file: Path, *arguments: str, typed: str | None = None) -> Run:
    return CliRunner().invoke(quiz, [str(file), "--seed=1", *arguments], input=typed, catch_exceptions=False)


@pytest.fixture
def masks(tmp_path: Path) -> Path:
    file = tmp_path / "masks.py"
    file.write_bytes(solution_file("masks").read_bytes())
    return file


def test_the_answer_is_computed_and_the_file_left_alone(masks: Path) -> None:
    before = masks.read_bytes()
    shown = run(masks, "--show")
    assert shown.exit_code == 0
    answer = next(one for one in shown.output.splitlines() if one.startswith("The answer is "))[14]
    option = next(one for one in shown.output.splitlines() if one.startswith(f"  {answer}) "))[5:]
    assert f"- {option}" in shown.output.split("The answer is")[1]
    changed = [one for one in shown.output.splitlines() if one.startswith(("- ", "+ "))]
    assert len(changed) >= 2
    assert changed[0][2:] in masks.read_text(encoding="utf-8").splitlines()
    assert masks.read_bytes() == before
    right = run(masks, typed=f"{answer}\n")
    assert "Right." in right.output
    wrong = next(one for one in "abcd" if one != answer)
    assert f"No, the answer is {answer}." in run(masks, typed=f"{wrong}\n").output


def test_the_line_of_a_change_is_that_of_python(masks: Path) -> None:
    text = masks.read_text(encoding="utf-8")
    masks.write_text(f"# a\fb\x85c\u2028d\n{text}", encoding="utf-8")
    shown = run(masks, "--show").output
    number = int(shown.partition(", line ")[2].partition(",")[0])
    changed = next(one for one in shown.split("\n") if one.startswith("- "))
    assert masks.read_text(encoding="utf-8").split("\n")[number - 1] == changed[2:]


def test_a_file_that_is_nested_too_deeply_is_a_sentence(masks: Path) -> None:
    masks.write_text(masks.read_text() + "\nDEEP = " + " + ".join(["1"] * 2500) + "\n")
    with pytest.raises(ZooError, match="nested too deeply"):
        run(masks, "--show")


def test_wrong_code_is_not_asked_about(masks: Path) -> None:
    wrong = masks.parent / "a b" / "masks.py"
    wrong.parent.mkdir()
    wrong.write_text(masks.read_text(encoding="utf-8").replace("tril()", "triu()"), encoding="utf-8")
    with pytest.raises(ZooError, match=r"does not pass all tests yet.* `zoo grade '.*/a b/masks\.py'` shows"):
        run(wrong)


def graded(*results: Result) -> Callable[[Request], Grade]:
    return lambda request: Grade("masks", "", "masks.py", (), "cpu", 0, results, 0.0)


def outcome(status: Status, category: str = "training") -> Result:
    return Result("a", "a test", category, status, 0, 1)


def test_the_question_about_training_has_the_outcome_for_an_answer() -> None:
    source = solution_file("masks").read_bytes()
    request = Request(get_exercise("masks"), "masks.py", source, "cpu", 0, TRAINING)
    for status in ("passed", "failed"):
        asked = question(request, graded(outcome(status)), about_training=True)
        assert asked.options[asked.answer].startswith("Yes" if status == "passed" else "No")
    with pytest.raises(ZooError, match="has no training test"):
        question(request, graded(), about_training=True)
    with pytest.raises(ZooError, match="No change"):  # none that fails one test and passes another
        question(request, graded(outcome("failed", "shape")))


def test_a_change_that_only_raises_is_asked_about_where_there_is_no_other() -> None:
    source = solution_file("masks").read_bytes()
    request = Request(get_exercise("masks"), "masks.py", source, "cpu", 0, TRAINING)
    passes, fails = outcome("passed", "shape"), Result("b", "another test", "shape", "failed", 0, 1)
    ends = replace(fails, where=Spot.of_line(3))
    grades = [graded(ends, passes), graded(fails, passes)]
    assert question(request, lambda one: grades.pop(0)(one)).grade.results[0].where is None
    assert question(request, graded(ends, passes)).grade.results[0].where is not None
