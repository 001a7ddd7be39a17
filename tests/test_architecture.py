"""The architecture: which way imports run, what each room may import, documentation."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import grader
import grader.api
import zoo
from tests import ROOT
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant

FILES = sorted(path for package in ("zoo", "grader", "exercises") for path in (ROOT / package).rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {name_of(path): path for path in FILES}
STANDARD = set(sys.stdlib_module_names) | {"__future__"}
ZOO = [info.name for info in pkgutil.walk_packages(zoo.__path__, "zoo.")]


@cache
def imported(path: Path, *, at_import: bool = False) -> set[str]:
    """Modules that a file imports; with `at_import`, only what runs when the file is imported."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            here = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
            module = ".".join([*here, node.module or ""]).strip(".")
            found.update({module, *(f"{module}.{alias.name}" for alias in node.names)})
        for_types = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        if for_types or (at_import and isinstance(node, (ast.FunctionDef, ast.Lambda))):
            return
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


def may_import(name: str, other: str) -> bool:
    """Whether a file of ours may import a module, whatever the rooms."""
    top = other.partition(".")[0]
    if name.startswith("exercises"):
        return top in STANDARD | {"torch"}
    if name.startswith("grader.worker"):
        return (
            top in STANDARD | {"torch"}
            or other in ("grader", "grader.worker")
            or other.startswith("grader.worker.")
        )
    if name.startswith("zoo"):
        starts = name.startswith(("zoo.cli", "zoo.__main__"))
        return top != "grader" and (starts or not other.startswith("zoo.cli"))
    return name.startswith("grader.cli") or not other.startswith("zoo.cli")


def test_imports_run_one_way() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, path in NAMES.items()
        for other in imported(path)
        if not may_import(name, other)
    ]
    assert not wrong


def test_nothing_is_imported_in_a_circle() -> None:
    graph = {
        name: {one for one in imported(path, at_import=True) if one in NAMES} - {name}
        for name, path in NAMES.items()
    }
    list(TopologicalSorter(graph).static_order())  # raises CycleError


def room_of(name: str) -> str:
    """The room that a module is in: zoo.parts, grader.engine, grader.exercises.attention; one file may be a room."""
    parts = name.split(".")
    return ".".join(parts[: 3 if parts[:2] == ["grader", "exercises"] else 2])


def test_no_two_rooms_need_each_other() -> None:
    graph: dict[str, set[str]] = {}
    for name, path in NAMES.items():
        others = {room_of(one) for one in imported(path) if one in NAMES}
        if name != "grader.api":  # it hands on what it names, and imports nothing by itself
            graph.setdefault(room_of(name), set()).update(others - {room_of(name)})
    list(TopologicalSorter(graph).static_order())  # raises CycleError


def test_an_exercise_imports_the_graders_api_alone() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, path in NAMES.items()
        if name.startswith("grader.exercises.")
        for other in imported(path)
        if other.startswith("grader.") and not other.startswith(("grader.api", "grader.exercises."))
    ]
    assert not wrong


def test_the_api_gives_all_it_names() -> None:
    for name in grader.api.__all__:
        assert getattr(grader.api, name) is not None
    tree = ast.parse((ROOT / "grader" / "api.py").read_text(encoding="utf-8"))
    typed = {
        alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert typed - {"annotations", "TYPE_CHECKING", "Any"} == set(grader.api.__all__)


def public(module: ModuleType) -> dict[str, object]:
    """Classes and functions that a module defines, and the public methods of its classes."""
    found: dict[str, object] = {}
    for name, value in vars(module).items():
        ours = getattr(value, "__module__", "") == module.__name__
        if name.startswith("_") or not ours or not (inspect.isclass(value) or inspect.isfunction(value)):
            continue
        if not hasattr(value, "zoo_impl"):  # a hook is documented where it is specified
            found[name] = value
        if inspect.isclass(value):
            methods = {
                n: m for n, m in vars(value).items() if inspect.isfunction(m) and not n.startswith("_")
            }
            found.update({f"{name}.{n}": method for n, method in methods.items()})
    return found


@pytest.mark.parametrize("name", ZOO)
def test_what_is_public_in_the_zoo_has_a_docstring(name: str) -> None:
    if name.endswith("__main__"):
        pytest.skip("runs when it is imported")
    module = importlib.import_module(name)
    assert module.__doc__ or "cli" in name or name == "zoo.cli", f"{name}: the module has no docstring"
    missing = [one for one, value in public(module).items() if not getattr(value, "__doc__", None)]
    assert not missing, f"{name}: without a docstring: {missing}"


VARIANTS = [v for v in get_registry().variants() if v.paper and v.origin.startswith("zoo.")]


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v.axis}-{v.name}")
def test_a_variants_class_names_its_paper(variant: Variant) -> None:
    cls = variant.load()
    documented = " ".join(
        (inspect.getdoc(one) or "") for one in cls.__mro__ if one.__module__.startswith("zoo.")
    )
    author, year = (
        variant.paper.split()[0],
        next(word for word in variant.paper.split() if word.strip(",").isdigit()),
    )
    if variant.path.endswith(":TorchAttention"):
        assert "nn.MultiheadAttention" in documented
    else:
        assert author in documented
        assert year.strip(",") in documented


def test_the_zoo_and_the_grader_are_typed() -> None:
    for package in (zoo, grader):
        assert (Path(package.__file__ or "").parent / "py.typed").is_file()
