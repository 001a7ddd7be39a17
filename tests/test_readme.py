"""The README shows the real output of every command."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.readme import ROOT, Example, examples, run, workshop
from zoo.cli.root import make_cli
from zoo.core.plugins import load_plugins

EXAMPLES = examples((ROOT / "README.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """One folder for all, in order: a later command may use what an earlier one saved."""
    made = workshop()
    yield made
    shutil.rmtree(made)


def check(example: Example, folder: Path) -> None:
    assert example.comparable(run(example, folder)) == example.comparable(example.output)


@pytest.mark.parametrize("example", [e for e in EXAMPLES if "slow" not in e.words], ids=lambda e: e.command)
def test_the_output_shown_is_real(example: Example, folder: Path) -> None:
    check(example, folder)


@pytest.mark.slow
@pytest.mark.parametrize("example", [e for e in EXAMPLES if "slow" in e.words], ids=lambda e: e.command)
def test_the_output_shown_by_slow_commands_is_real(example: Example, folder: Path) -> None:
    check(example, folder)


def test_every_command_has_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_PLUGINS", "grader")
    commands = make_cli(load_plugins()).commands
    shown = {
        re.split(r"[\s|]+", part)[1]
        for e in EXAMPLES
        for part in e.command.split("; ")
        if part.startswith("zoo ")
    }
    assert set(commands) <= shown


def test_every_example_fits_into_80_columns() -> None:
    wide = [line for e in EXAMPLES for line in e.output.splitlines() if len(line) > 80]
    assert not wide


def test_every_make_target_that_the_readme_names_exists() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", text)) <= targets
