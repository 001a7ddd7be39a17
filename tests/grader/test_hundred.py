"""The script that grades right code again and again (`hundred.py`), in small."""

from __future__ import annotations

import hundred
import pytest

from grader.exercise import get_exercises
from grader.judge.sandbox import Sandbox


def test_every_exercise_has_a_solution_and_unusual_files() -> None:
    for name in get_exercises():
        titles = list(hundred.right_files(name))
        assert titles[0] == "solution"
        assert len(titles) > 2


@pytest.mark.slow
def test_right_code_passes_each_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert hundred.main(["masks", "feedforward", "--times", "3", "--first", "1000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(hundred.right_files("masks")) + len(hundred.right_files("feedforward"))
    assert all("3 of 3" in line for line in lines)


@pytest.mark.slow
def test_wrong_code_is_counted() -> None:
    source = hundred.right_files("masks")["solution"].replace("tril", "triu")
    with Sandbox() as sandbox:
        found = [hundred.failures(grade) for grade in hundred.grades("masks", source, range(2), sandbox)]
    assert len(found) == 2
    assert all(found)
