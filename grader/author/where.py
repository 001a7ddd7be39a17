"""Where a command, variant, preset, exercise, hidden test or known mistake is written: `zoo dev where NAME`."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from grader.catalog import get_exercises, get_mistakes
from zoo.core.blueprint import get_presets
from zoo.core.errors import unknown_name
from zoo.core.plugins import get_registry
from zoo.core.source import find_source

FILES = {
    "template.py": "template: the file that learners get",
    "solution.py": "solution: the model answer",
    "hints.py": "hints",
    "reference.py": "reference: the right answer in steps, with which files are compared",
    "mistakes.py": "known mistakes",
    "mistakes": "known mistakes",
    "suite": "suite: the hidden tests",
}
"""What is in an exercise's folder; its mistakes are a file or a folder."""


@dataclass(frozen=True)
class Written:
    """One thing that has a name, and its place.

    Attributes:
        name: as a user types it ("class grade", "gqa", "missing-scale").
        kind: what it is ("attention variant").
        place: "FILE:LINE", or a folder.
    """

    name: str
    kind: str
    place: str


def everything(root: click.Group) -> list[Written]:
    """All that has a name. Imports all commands and known mistakes, and with them torch.

    Args:
        root: the command `zoo`.
    """
    return [*_commands(root), *_parts(), *_presets(), *_exercises(), *_tests(), *_mistakes()]


@dataclass(frozen=True)
class Found:
    """What a search gives.

    Attributes:
        exact: all that are called so.
        others: those elsewhere whose name contains it.
    """

    exact: list[Written]
    others: list[Written]


def where(name: str, known: Sequence[Written]) -> Found:
    """All of `known` that are called `name`, and those whose names contain it.

    Capitals do not matter, nor a "zoo" before a command; "softmax over queries" is softmax-over-queries. A subcommand
    is found by its last word too.

    Raises:
        UnknownNameError: no name is or contains this one.
    """
    wanted = _plain(name.removeprefix("zoo "))
    exact = [one for one in known if _plain(one.name) == wanted]
    exact = exact or [one for one in known if one.kind == "command" and one.name.split()[-1] == wanted]
    places = {one.place for one in exact}  # `compare reverse` is the same function as `compare`
    containing = [one for one in known if len(wanted) > 2 and wanted in _plain(one.name)]
    others = [one for one in containing if one.place not in places]
    if not exact and not others:
        raise unknown_name(
            "command, variant, preset, exercise, hidden test or known mistake",
            name,
            {one.name for one in known},
        )
    return Found(exact, others)


def _plain(name: str) -> str:
    return re.sub(r"[ _-]+", "-", name.lower())


def _commands(group: click.Group, before: str = "") -> Iterator[Written]:
    context = click.Context(group)
    for name in group.list_commands(context):
        one: Any = group.get_command(context, name)
        one = one.load() if hasattr(one, "load") else one  # a command that is imported when it is called
        if one is not None and one.callback is not None:
            yield Written(before + name, "command", _line(one.callback))
        if isinstance(one, click.Group):
            yield from _commands(one, f"{before}{name} ")


def _parts() -> Iterator[Written]:
    registry = get_registry()
    for axis in registry.axes:
        for variant in registry.variants(axis.name):
            source = find_source(variant)
            yield Written(variant.name, f"{axis.name} variant", f"{source.file}:{source.line}")


def _presets() -> Iterator[Written]:
    modules = [module for name, module in sys.modules.items() if name != "__main__"]
    for name, preset in get_presets().items():
        holders = [
            module for module in modules if any(value is preset for value in list(vars(module).values()))
        ]
        for file in filter(None, (getattr(module, "__file__", None) for module in holders)):
            if line := _line_of_preset(name, Path(file)):
                yield Written(name, "preset", f"{_short(file)}:{line}")
                break


def _line_of_preset(name: str, file: Path) -> int | None:
    """The line of `Preset("NAME", ...)`; other calls may name it too, as an option or a task."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).endswith("Preset"):
            first = node.args[0]
            if isinstance(first, ast.Constant) and first.value == name:
                return node.lineno
    return None


def _exercises() -> Iterator[Written]:
    for name, exercise in get_exercises().items():
        spec = importlib.util.find_spec(exercise.package)
        if spec is not None and spec.origin is not None:
            folder = Path(spec.origin).parent
            yield Written(name, "exercise", _short(folder) + os.sep)
            for path in (folder / file for file in FILES):
                if path.exists():
                    yield Written(name, FILES[path.name], _short(path) + os.sep * path.is_dir())


def _tests() -> Iterator[Written]:
    """The hidden tests, by their titles."""
    for name, exercise in get_exercises().items():
        for file in exercise.test_files():
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
                    words = {word.arg: word.value for word in getattr(mark, "keywords", ())}
                    if isinstance(title := words.get("title"), ast.Constant):
                        place = f"{_short(file)}:{mark.lineno}"
                        yield Written(str(title.value), f"hidden test of {name}", place)


def _mistakes() -> Iterator[Written]:
    for name in get_exercises():
        for mistake in get_mistakes(name):
            yield Written(mistake.id, f"known mistake of {name}", _line(mistake.patch))


def _line(function: Callable[..., Any]) -> str:
    """The file and the first line of a function, or of what stands in for one."""
    while isinstance(function, partial):
        function = function.func
    code = inspect.unwrap(function).__code__
    return f"{_short(code.co_filename)}:{code.co_firstlineno}"


def _short(path: str | Path) -> str:
    """From the current directory, where that is shorter."""
    return min(str(path), os.path.relpath(path), key=len)
