"""The grader as a library: a right, a wrong and an unreadable file; what it leaves as it was."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest

import grader
import grader.library
from grader.catalog import CATEGORIES
from tests import ROOT, solution_file
from tests.grader.wrong import masks
from zoo.core.errors import ZooError

WRONG = masks.file(
    padding_mask="def padding_mask(tokens, pad=0):\n    return (tokens == pad)[:, None, None, :]\n"
)
NO_TRAINING = {"skip": ["training"], "sandbox": "process", "seed": 3}


def test_importing_imports_neither_torch_nor_pytest() -> None:
    check = "import grader, sys; sys.exit(any(m in sys.modules for m in ('grader.library', 'torch', 'pytest', 'zoo')))"
    subprocess.run([sys.executable, "-c", check], check=True, timeout=600)
    check = (
        "import grader, sys; grader.grade_file; sys.exit('torch' in sys.modules or 'pytest' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", check], check=True, timeout=600)


def test_what_is_offered_is_there_and_documented() -> None:
    assert {*grader.__all__} <= {*dir(grader)}
    for name in grader.__all__:
        assert getattr(grader, name) is getattr(grader.library, name)
        assert getattr(grader, name).__doc__
    with pytest.raises(AttributeError, match="module 'grader' has no attribute 'grade'"):
        grader.grade  # noqa: B018


def test_a_right_file_gets_all_points(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "masks.py"
    shutil.copy(solution_file("masks"), file)
    before = dict(os.environ)
    grade = grader.grade_file(file, **NO_TRAINING)
    assert (grade.passed, grade.exercise, grade.seed, grade.device, grade.sandbox) == (
        True, "masks", 3, "cpu", "process",
    )  # fmt: skip
    assert grade.points == grade.max_points > 0
    assert isinstance(grade, grader.Grade)
    assert all(isinstance(one, grader.Result) for one in grade.results)
    assert (capfd.readouterr(), os.environ) == (("", ""), before)
    assert [path.name for path in tmp_path.iterdir()] == ["masks.py"]  # no record of progress
    with pytest.raises(FrozenInstanceError):
        grade.seed = 4  # type: ignore[misc]


def test_a_wrong_file_gets_its_mistake_named_and_the_same_seed_the_same_grade(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(WRONG)
    first, again = (
        grader.grade_file(str(file), "masks", only=["masking"], sandbox="process", seed=5) for _ in "ab"
    )
    assert not first.passed
    assert first.mistakes
    assert {one.category for one in first.results if one.status != "skipped"} <= {"masking"}
    assert first.results == again.results
    assert (first.selection, first.options) == (" --only masking", " --exercise masks")


def test_a_file_that_cannot_be_loaded_gets_a_grade_that_says_so(tmp_path: Path) -> None:
    file = tmp_path / "masks.py"
    file.write_text("def (\n")
    grade = grader.grade_file(file, **NO_TRAINING)
    assert (grade.passed, grade.points) == (False, 0)
    assert "line 1" in grade.results[0].message


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("gone/masks.py", {}, "No such file: 'gone/masks.py'"),
        (str(ROOT / "exercises"), {}, "is a directory; expected a Python file"),
        (str(ROOT / "pyproject.toml"), {}, "Cannot infer the exercise from the name of"),
        (str(solution_file("masks")), {"exercise": "maks"}, "Did you mean masks"),
        (str(solution_file("masks")), {"only": ["maskng"]}, "Did you mean masking"),
        (str(solution_file("masks")), {"skip": CATEGORIES}, "exclude all tests"),
        (str(solution_file("masks")), {"seed": -1}, "expected a whole number from 0 to 2147483647"),
        (str(solution_file("masks")), {"sandbox": "strickt"}, "Did you mean strict"),
        (str(solution_file("masks")), {"exercise": "masks", "device": "tpu"}, "There is no device 'tpu'"),
    ],
)
def test_what_cannot_be_graded_is_refused_in_a_sentence(
    name: str, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ZooError, match=sentence):
        grader.grade_file(name, **options)
