"""What the pages list is complete: hooks, worker operations, categories, parts, traits, commands."""

from __future__ import annotations

import inspect
import re

from grader import hookspecs as grader_hooks
from grader.catalog import CATEGORIES, get_exercises
from grader.cli import commands as grader_commands
from grader.engine.conclusions import TRAITS
from grader.worker.operations import Operations
from grader.worker.parts.kinds import PARTS
from tests.docs.pages import ROOT
from zoo.cli import commands as zoo_commands
from zoo.core import hookspecs as zoo_hooks
from zoo.core.plugins import DEFAULT_PLUGINS, get_registry

DOCS = ROOT / "docs"


def text(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def test_every_hook_is_documented_with_its_signature() -> None:
    for module in (zoo_hooks, grader_hooks):
        hooks = {name: f for name, f in vars(module).items() if name.startswith("zoo_")}
        assert hooks
        for name, function in hooks.items():
            arguments = ", ".join(inspect.signature(function).parameters)
            assert f"| `{name}({arguments})` |" in text("plugins.md")
            assert inspect.getdoc(function)


def test_every_operation_of_the_worker_is_documented() -> None:
    table = text("sandbox.md").partition("| `op` |")[2].partition("\n\n")[0]
    rows = {"op"} | {
        op for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for op in re.findall(r"`(\w+)`", row)
    }
    assert rows == {"source", "part", "op", *Operations("cpu")._operations}


def test_what_the_page_on_exercises_lists_is_there() -> None:
    page = text("write-an-exercise.md")
    kinds = set(re.findall(r"`([A-Z]\w+)`", page.partition("one of `PARTS`")[2].partition("...")[0]))
    assert kinds
    assert kinds <= set(PARTS)
    assert set(re.findall(r'traits=frozenset\(\{"([^"]+)"', page)) <= set(TRAITS)
    assert all(f"`{category}`" in page for category in CATEGORIES)


def test_the_readme_says_where_every_command_is() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| a command")]
    groups = re.findall(r"`(\w+/cli)/NAME\.py`: ((?:`\w+`(?:, )?)+)", row)
    found = {(folder, name) for folder, names in groups for name in re.findall(r"\w+", names)}
    assert found == {
        *(("zoo/cli", name) for name in zoo_commands.COMMANDS),
        *(("grader/cli", name) for name in (*grader_commands.COMMANDS, "dev")),
    }
    assert all((ROOT / folder / f"{name}.py").is_file() for folder, name in found)


def test_the_readme_names_every_exercise() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| an exercise")]
    names = row.partition("NAME is ")[2].partition(".")[0]
    assert re.findall(r"`(\w+)`", names) == [
        name for name, one in get_exercises().items() if one.package.startswith("grader.")
    ]


def test_a_variant_is_in_the_file_that_the_readme_says() -> None:
    for variant in get_registry().variants():
        if variant.origin in DEFAULT_PLUGINS and variant.axis != "assembly":
            file = f"zoo.parts.{variant.axis}.{variant.name}".replace("-", "_")
            assert variant.path.partition(":")[0] == file
