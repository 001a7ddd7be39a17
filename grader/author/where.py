"""Where a command, axis, variant, preset, exercise, hidden test or known mistake is written: `zoo dev where NAME`."""

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
from zoo.core import axes
from zoo.core.blueprint import get_presets
from zoo.core.errors import unknown_name
from zoo.core.plugins import get_registry
from zoo.core.source import find_source

FILES = {
    "template.py": "template: the file that learners get",
    "solution.py": "solution: the model answer",
    "hints.py": "hints",
    "reference.py": "reference: the right answer in steps, with which files are compared",
    "suite/scenarios.py": "scenarios: the inputs of the hidden tests",
}
"""What is in an exercise's folder, apart from its hidden tests and known mistakes."""


@dataclass(frozen=True)
class Written:
    """One thing that has a name, and its place.

    Attributes:
        name: as a user types it ("class grade", "gqa", "missing-scale").
        kind: what it is ("attention variant").
        place: "FILE:LINE", a file, or a folder.
        main: false for a further place of what has this name, which only the exact name lists.
    """

    name: str
    kind: str
    place: str
    main: bool = True

    @property
    def title(self) -> str:
        """Its kind and its name: "known mistake of loss 'shift-missing'", or a command as it is typed."""
        return f"command `zoo {self.name}`" if self.kind == "command" else f"{self.kind} '{self.name}'"


def everything(root: click.Group) -> list[Written]:
    """All that has a name. Imports all commands and known mistakes, and with them torch.

    Args:
        root: the command `zoo`.
    """
    return [*_exercises(), *_axes(), *_parts(), *_presets(), *_mistakes(), *_tests(), *_commands(root)]


@dataclass(frozen=True)
class Found:
    """What a search gives.

    Attributes:
        exact: all that are called so.
        others: those whose names contain it, those that begin with it first.
        subcommands: commands whose last word it is, where something else is called so.
    """

    exact: list[Written]
    others: list[Written]
    subcommands: list[Written]


def where(name: str, known: Sequence[Written]) -> Found:
    """All of `known` that are called `name`, and those whose names contain it.

    Capitals do not matter, nor a "zoo" before a command; "softmax over queries" is softmax-over-queries. A subcommand
    is found by its last word too.

    Raises:
        UnknownNameError: no name is or contains this one.
    """
    wanted = _plain(name.removeprefix("zoo "))
    exact = [one for one in known if _plain(one.name) == wanted]
    ending = [one for one in known if one.kind == "command" and one.name.split()[-1] == wanted]
    subcommands = [one for one in ending if one not in exact] if exact else []
    exact = exact or ending
    places = {
        one.place for one in [*exact, *subcommands]
    }  # `compare reverse` is the same function as `compare`
    others = [
        one
        for one in known
        if one.main and len(wanted) > 2 and wanted in _plain(one.name) and one not in exact
        if one.kind != "command" or one.place not in places
    ]
    others.sort(key=partial(_closeness, wanted))
    if not exact and not others:
        raise unknown_name(
            "command, axis, variant, preset, exercise, hidden test or known mistake",
            name,
            {one.name for one in known},
        )
    return Found(exact, others, subcommands)


def _closeness(wanted: str, one: Written) -> tuple[bool, bool, bool]:
    """A key for sorting: exercises and axes, then names whose first word is `wanted`, then those that begin with it."""
    name = _plain(one.name)
    return (
        one.kind not in ("exercise", "axis"),
        not name.startswith(f"{wanted}-"),
        not name.startswith(wanted),
    )


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


def _axes() -> Iterator[Written]:
    """Each axis: the folder of its default variant, then its declaration."""
    registry = get_registry()
    declared = Path(axes.__file__)
    lines = {
        ast.literal_eval(node.args[0]): node.lineno
        for node in ast.walk(ast.parse(declared.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Axis"
    }
    for axis in registry.axes:
        folder = Path(find_source(registry.get(axis.name, axis.default)).file).parent
        yield Written(axis.name, "axis", _short(folder) + os.sep)
        place = f"{_short(declared)}:{lines[axis.name]}"
        yield Written(axis.name, "axis: its declaration", place, main=False)


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
                    kind = FILES[path.relative_to(folder).as_posix()]
                    yield Written(name, kind, _short(path), main=False)
            mistakes = {_line(mistake.patch).rpartition(":")[0] for mistake in get_mistakes(name)}
            for file in [*map(_short, exercise.test_files()), *sorted(mistakes)]:
                yield Written(name, _summary(file), file, main=False)


def _summary(file: str) -> str:
    """The first line of a file's docstring."""
    text = ast.get_docstring(ast.parse(Path(file).read_text(encoding="utf-8"))) or ""
    return text.partition("\n")[0].rstrip(".")


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
