"""The source of a variant's class, found and read without importing it."""

from __future__ import annotations

import ast
import importlib.util
import os
import tokenize
from dataclasses import dataclass
from pathlib import Path

from zoo.core.errors import ZooError, describe_exception, unknown_name
from zoo.core.lines import split_lines
from zoo.core.registry import Variant


@dataclass(frozen=True)
class Source:
    """The place of a class in its file.

    Attributes:
        file: as a path from the current directory where that is shorter.
        line: of its first decorator, or of `class`.
        text: its source.
        docstring: "" where there is none.
    """

    file: str
    line: int
    text: str
    docstring: str


def find_source(variant: Variant) -> Source:
    """The source of the class (or function) behind `variant`; neither it nor torch is imported.

    Raises:
        ZooError: the file is not found or not readable, or is no Python.
        UnknownNameError: nothing of this name is defined at the file's top level.
    """
    module, _, name = variant.path.partition(":")
    path = Path(module) if variant.is_file else _file_of(module, variant)
    try:
        with tokenize.open(path) as file:
            text = file.read()
        tree = ast.parse(text)
    except OSError as error:
        raise ZooError(f"'{path}' cannot be read: {error.strerror}.") from error
    except (SyntaxError, ValueError) as error:
        raise ZooError(f"'{path}' is not valid Python: {error}.") from error
    found = {
        node.name: node
        for node in tree.body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    }
    if name not in found:
        raise unknown_name("class or function", name, found, where=f" in {path}")
    node = found[name]
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    lines = split_lines(text)[first - 1 : node.end_lineno]
    return Source(_short(path), first, "\n".join(lines), ast.get_docstring(node) or "")


def _file_of(module: str, variant: Variant) -> Path:
    """The file of a module; its parent packages are imported, which hold metadata only."""
    try:
        spec = importlib.util.find_spec(module)
    except (Exception, SystemExit) as error:
        raise ZooError(
            f"The source of {variant.axis} '{variant.name}' is not found: {describe_exception(error)}."
        ) from error
    if spec is None or not spec.has_location or spec.origin is None:
        raise ZooError(
            f"The source of {variant.axis} '{variant.name}' is not found: there is no module {module}."
        )
    return Path(spec.origin)


def _short(path: Path) -> str:
    try:
        relative = os.path.relpath(path)
    except ValueError:  # another drive, on Windows
        return str(path)
    return min(relative, str(path), key=len)
