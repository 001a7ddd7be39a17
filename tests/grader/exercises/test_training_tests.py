"""The training tests of the exercises, in a real worker: solutions pass them, and code that is wrong does not."""

from __future__ import annotations

import pytest

from grader.catalog import get_exercise, get_exercises
from grader.core.results import Result
from grader.run.session import Session
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Sandbox
from tests import solution_file

NAMES = [name for name, exercise in get_exercises().items() if "test_training.py" in exercise.tests]


def trained(sandbox: Sandbox, name: str, text: str) -> Result:
    """The verdict of the training test alone."""

    def submission() -> RemoteSubmission:
        return RemoteSubmission(sandbox.worker("cpu"), text.encode(), f"{name}.py")

    (result,) = Session(get_exercise(name), submission, seed=5).run(("training",))
    return result


def source(name: str) -> str:
    return solution_file(name).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_solution_passes(sandbox: Sandbox, name: str) -> None:
    result = trained(sandbox, name, source(name))
    assert (result.status, result.message) == ("passed", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("if cache is not None:", "if cache is not None and cache[0].size(2) < 3:"),
        ("return self.out_proj(merged), (k, v)", "return self.out_proj(merged), (v, v)"),
    ],
    ids=["older-keys-lost", "values-for-keys"],
)
def test_wrong_cache_spells_worse(sandbox: Sandbox, right: str, wrong: str) -> None:
    text = source("kv_cache")
    assert text.count(right) == 1
    result = trained(sandbox, "kv_cache", text.replace(right, wrong))
    assert result.status == "failed"
    assert "unseen words right" in result.message
