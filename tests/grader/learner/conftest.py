"""A learner's folder, and the commands run in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.catalog import Exercise, get_exercises
from grader.learner import record
from zoo.cli.root import make_cli
from zoo.core.plugins import get_plugins


@dataclass(frozen=True)
class Done:
    """What a command did; its words with single spaces between, as `out` and `err` are wrapped."""

    code: int
    stdout: str
    stderr: str

    @property
    def out(self) -> str:
        return " ".join(self.stdout.split())

    @property
    def err(self) -> str:
        return " ".join(self.stderr.split())


Run = Callable[..., Done]


@pytest.fixture(autouse=True)
def _nothing_above(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What others left in folders above, which are everybody's, is no learner's folder of a test."""
    real, own = record.is_record, tmp_path.resolve()
    monkeypatch.setattr(record, "is_record", lambda path: path.resolve().is_relative_to(own) and real(path))


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Run `zoo` in `tmp_path` or where else a test has gone, 80 columns wide. What is no exit is raised."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: object, color: bool = False) -> Done:
        words = [str(one) for one in arguments]
        result = CliRunner().invoke(make_cli(get_plugins()), words, prog_name="zoo", color=color)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    return invoke


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Exercise]]:
    """In place of all exercises: attention, feedforward, and one that is a copy of feedforward."""
    real = get_exercises()
    attention, feedforward = real["attention"], real["feedforward"]
    found = [
        replace(attention, next="feedforward"),
        replace(feedforward, next="again"),
        replace(feedforward, name="again", title="Once more", next=""),
    ]
    monkeypatch.setattr("grader.exercises.built_in", lambda: found)
    get_exercises.cache_clear()
    yield found
    monkeypatch.undo()
    get_exercises.cache_clear()
