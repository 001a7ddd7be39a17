"""What the grader's pages say is so: grader/EXERCISES.md runs, and what the READMEs name exists."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader import hookspecs
from grader.catalog import CATEGORIES
from grader.engine.conclusions import TRAITS
from grader.worker.operations import Operations
from grader.worker.parts import PARTS
from tests.readme import PAGES, ROOT, Example, File, bare, run, steps
from zoo.cli.root import make_cli
from zoo.core.plugins import load_plugins

PAGE = ROOT / "grader" / "EXERCISES.md"
TEXT = PAGE.read_text(encoding="utf-8")
STEPS = steps(TEXT)
READMES = [
    ROOT / "grader" / "README.md",
    PAGE,
    ROOT / "grader" / "mistakes" / "README.md",
    ROOT / "grader" / "worker" / "README.md",
    ROOT / "exercises" / "README.md",
]
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)")
COMMAND = re.compile(r"`(zoo [^`\n]+)`")
NAMED = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:py|md)|(?:[\w-]+/)+)`")
LEARNERS = {"conftest.py", "mine.py", "rms_norm.py", "__init__.py"}  # files of a reader's, not of ours


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder in which the page's files are made, and its commands run, in order."""
    made = bare()
    yield made
    shutil.rmtree(made)


@pytest.mark.parametrize("step", STEPS, ids=lambda s: s.command if isinstance(s, Example) else s.path)
def test_a_step_of_the_page_on_exercises_is_so(step: Example | File, folder: Path) -> None:
    if isinstance(step, File):
        step.write(folder)
    else:
        assert step.comparable(run(step, folder)) == step.comparable(step.output)


def test_every_block_of_the_page_on_exercises_is_a_step() -> None:
    assert len(re.findall(r"^```\w", TEXT, re.MULTILINE)) == len(STEPS)
    assert PAGE in PAGES


def test_the_page_on_exercises_fits_into_80_columns() -> None:
    wide = [line for s in STEPS if isinstance(s, Example) for line in s.output.splitlines() if len(line) > 80]
    assert not wide


def test_what_the_page_on_exercises_lists_is_there() -> None:
    kinds = set(re.findall(r"`([A-Z]\w+)`", TEXT.partition("makes one of `PARTS`")[2].partition("...")[0]))
    assert kinds
    assert kinds <= set(PARTS)
    assert set(re.findall(r'traits=frozenset\(\{"([^"]+)"', TEXT)) <= set(TRAITS)
    assert all(f"`{category}`" in TEXT for category in CATEGORIES)


@pytest.mark.parametrize("page", READMES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    text = re.sub(r"```.*?```\n", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not [to for to in LINK.findall(text) if "://" not in to and not (page.parent / to).exists()]
    missing = []
    for name in NAMED.findall(text):
        grader = ROOT / "grader"
        below = (grader / "judge", grader / "worker" / "confinement")
        places = (page.parent, ROOT, grader, ROOT / "zoo", *below)
        if name not in LEARNERS and not any((place / name).exists() for place in places):
            missing.append(name)
    assert not missing


def test_every_hook_of_the_grader_is_in_its_readme() -> None:
    text = READMES[0].read_text(encoding="utf-8")
    hooks = [name for name in vars(hookspecs) if name.startswith("zoo_")]
    assert hooks
    assert not [name for name in hooks if f"`{name}" not in text]


def test_every_operation_of_the_worker_is_in_its_readme() -> None:
    text = (ROOT / "grader" / "worker" / "README.md").read_text(encoding="utf-8").partition("| `op` |")[2]
    text = text.partition("\n\n")[0]
    rows = {"op"} | {
        op for row in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for op in re.findall(r"`(\w+)`", row)
    }
    assert rows == {"source", "op", *Operations("cpu")._operations}


@pytest.mark.parametrize("page", READMES, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_command_that_a_page_names_exists(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_PLUGINS", "grader")
    cli = make_cli(load_plugins())
    for text in COMMAND.findall(page.read_text(encoding="utf-8")):
        words = shlex.split(text)[1:]
        path = [word for word in words[:2] if word in cli.commands or words[0] == "dev"]
        assert path, text
        shown = CliRunner().invoke(cli, [*path, "--help"], prog_name="zoo")
        assert shown.exit_code == 0, text
        options = [word.partition("=")[0] for word in words if word.startswith("--")]
        assert [o for o in options if not re.search(rf"{o}\b", shown.output)] == [], text
