"""What zoo/README.md and zoo/PLUGINS.md say is so."""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import zoo
from tests.readme import PAGES, Example, File, checkout, run, steps
from zoo.core import hookspecs

FOLDER = Path(zoo.__file__).parent
TEXT = (FOLDER / "README.md").read_text(encoding="utf-8")
PLUGINS = (FOLDER / "PLUGINS.md").read_text(encoding="utf-8")
STEPS = steps(PLUGINS)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A checkout in which the page's files are made, and its commands run, in order."""
    made = checkout()
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.command if isinstance(s, Example) else s.path)
def test_a_step_of_the_page_on_plugins_is_so(step: Example | File, folder: Path) -> None:
    if isinstance(step, File):
        step.write(folder)
    else:
        assert step.comparable(run(step, folder)) == step.comparable(step.output)


def test_every_block_of_the_page_on_plugins_is_a_step() -> None:
    assert len(re.findall(r"^```\w", PLUGINS, re.MULTILINE)) == len(STEPS)
    assert FOLDER / "PLUGINS.md" in PAGES


def test_the_page_on_plugins_fits_into_80_columns() -> None:
    wide = [line for s in STEPS if isinstance(s, Example) for line in s.output.splitlines() if len(line) > 80]
    assert not wide


def test_every_hook_is_documented_with_its_signature() -> None:
    hooks = {name: f for name, f in vars(hookspecs).items() if name.startswith("zoo_")}
    assert hooks
    for name, function in hooks.items():
        arguments = ", ".join(inspect.signature(function).parameters)
        assert f"| `{name}({arguments})` |" in TEXT
        assert inspect.getdoc(function)
