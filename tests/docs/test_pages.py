"""The pages show the real output of every command, and what they name exists."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tests.docs.pages import ALL_PAGES, PAGES, ROOT, Example, File, run, steps
from zoo.cli.root import make_cli
from zoo.core.plugins import load_plugins

TEXTS = {page: page.read_text(encoding="utf-8") for page in ALL_PAGES}
STEPS = [(page, step) for page in PAGES for step in steps(TEXTS[page])]
EXAMPLES = [step for _, step in STEPS if isinstance(step, Example)]
HERE = [(page, step) for page, step in STEPS if not (isinstance(step, Example) and step.checked_elsewhere)]
LINK = re.compile(r"\]\(([^)\s]*)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
COMMAND = re.compile(r"`(zoo [^`\n]+)`")
NAMED = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)`")  # a path with a slash
PLACEHOLDER = re.compile(r"(?:NAME|AXIS)\b")  # zoo/parts/AXIS/NAME.py
MACHINE_PATH = re.compile(r"(?<![\w.:/~])/(?:home|root|Users|tmp|work|mnt|private)/\w")
BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
ON_EVERY_PAGE = pytest.mark.parametrize("page", ALL_PAGES, ids=lambda p: str(p.relative_to(ROOT)))


def _id(page: Path, step: Example | File) -> str:
    return f"{page.relative_to(ROOT)}: {step.command if isinstance(step, Example) else step.path}"


@pytest.fixture(scope="module")
def folder_of() -> Iterator[Callable[[Path], Path]]:
    """One folder per page, for all of its steps in order: a command may use what an earlier one saved."""
    made: dict[Path, Path] = {}

    def folder(page: Path) -> Path:
        if page not in made:
            made[page] = PAGES[page]()
        return made[page]

    yield folder
    for path in made.values():
        shutil.rmtree(path)


@pytest.mark.slow  # every step of a page, for the later ones need what the earlier ones made
@pytest.mark.parametrize(("page", "step"), HERE, ids=[_id(page, step) for page, step in HERE])
def test_a_step_of_a_page_is_as_shown(
    page: Path, step: Example | File, folder_of: Callable[[Path], Path]
) -> None:
    if isinstance(step, File):
        step.write(folder_of(page))
    else:
        assert step.comparable(run(step, folder_of(page))) == step.comparable(step.output)


RUNNABLE = [
    (page, code)
    for page, text in TEXTS.items()
    for code in re.findall(r"^```python\n# runs\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
]


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch's, about its own model
@pytest.mark.parametrize(("page", "code"), RUNNABLE, ids=[str(p.relative_to(ROOT)) for p, _ in RUNNABLE])
def test_a_python_block_runs(page: Path, code: str) -> None:
    exec(compile(code, str(page), "exec"), {})


@ON_EVERY_PAGE
def test_every_console_block_is_a_step(page: Path) -> None:
    shown = len(re.findall(r"^```console", TEXTS[page], re.MULTILINE))
    assert shown == sum(isinstance(step, Example) for step in steps(TEXTS[page]))


def test_what_is_checked_elsewhere_is() -> None:
    files = [
        word.partition("=")[2] for one in EXAMPLES for word in one.words if word.startswith("checked-by=")
    ]
    assert files
    assert all("the_example(" in (ROOT / file).read_text(encoding="utf-8") for file in files)


def test_every_command_has_an_example(cli: click.Group) -> None:
    shown = {
        re.split(r"[\s|]+", part)[1]
        for example in EXAMPLES
        for part in re.split("; | && ", example.command)
        if part.startswith("zoo ")
    }
    assert set(cli.commands) <= shown


def test_every_example_fits_into_80_columns() -> None:
    assert not [line for one in EXAMPLES for line in one.output.splitlines() if len(line) > 80]


@pytest.mark.parametrize(("name", "most"), [("README.md", 250), ("docs/write-an-exercise.md", 250)])
def test_a_page_is_short(name: str, most: int) -> None:
    assert len(TEXTS[ROOT / name].splitlines()) <= most


# What a page names exists.


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = HEADING.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\s-]", "", one.lower()).strip().replace(" ", "-") for one in headings}


@ON_EVERY_PAGE
def test_every_relative_link_works(page: Path) -> None:
    broken = []
    for link in LINK.findall(BLOCK.sub("", TEXTS[page])):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        to = page.parent / path if path else page
        if not to.exists() or (anchor and anchor not in anchors(to)):
            broken.append(link)
    assert not broken


def test_every_page_of_docs_is_linked_from_the_readme() -> None:
    links = set(LINK.findall(TEXTS[ROOT / "README.md"]))
    assert {page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("*.md")} <= links


@ON_EVERY_PAGE
def test_no_page_has_an_absolute_path_of_a_machine(page: Path) -> None:
    assert not MACHINE_PATH.findall(TEXTS[page])


@ON_EVERY_PAGE
def test_every_path_that_a_page_names_exists(page: Path) -> None:
    ours = {one.name for one in ROOT.iterdir()}
    named = [PLACEHOLDER.split(one)[0] for one in NAMED.findall(BLOCK.sub("", TEXTS[page]))]
    missing = [one for one in named if one.partition("/")[0] in ours and not (ROOT / one).exists()]
    assert not missing


@ON_EVERY_PAGE
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)`", TEXTS[page])) <= targets


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> click.Group:
    """The command line with the plugins that every reader has."""
    monkeypatch.setenv("ZOO_PLUGINS", "grader")
    return make_cli(load_plugins())


@ON_EVERY_PAGE
def test_every_command_that_a_page_names_exists(page: Path, cli: click.Group) -> None:
    for text in COMMAND.findall(TEXTS[page]):
        words = shlex.split(text)[1:]
        if words[0].isupper() or words[0].startswith("-"):
            continue
        group = words[0] in ("class", "dev", "draw", "train")
        path = [words[0], *(word for word in words[1:2] if group and word[0].islower())]
        assert path[0] in cli.commands, text
        options = {word.partition("=")[0] for word in words if word.startswith("--") and len(word) > 2}
        shown = ""
        for arguments in ([*path[:1]], path, [*path[:1], "--task=translate"]):
            result = CliRunner().invoke(cli, [*arguments, "--help"], prog_name="zoo")
            shown += result.output if result.exit_code == 0 else ""
        assert shown, text
        assert [one for one in options if not re.search(rf"{one}\b", shown)] == [], text
