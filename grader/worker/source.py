"""Turns a submission's text into a module."""

from __future__ import annotations

import linecache
import re
import sys
import types
from collections.abc import Sequence
from functools import lru_cache
from importlib.machinery import ModuleSpec

MODULE = "submission"  # its name in `sys.modules`: says nothing of where it runs
PACKAGE = "worker"  # this one, in the process of a submission: what it has for the judge is no library
REFUSED = ("zoo", "grader", PACKAGE)


class NotPythonError(Exception):
    """The text does not compile; the compiler's exception is the cause."""


def load(text: bytes, filename: str, *, is_copy: bool = False) -> types.ModuleType:
    """Compile and run a submission's source, in a fresh module.

    Args:
        text: the source, as it stands in the file.
        filename: the name that tracebacks show.
        is_copy: one of many changed copies; what was compiled for another one is not compiled again.

    Raises:
        NotPythonError: it does not compile.
        BaseException: whatever the source raises.
    """
    # Split as bytes, since `str.splitlines` also splits at form feeds and others, at which Python begins no line.
    lines = [line.decode("utf-8", "replace") for line in text.splitlines(keepends=True)]
    linecache.cache[filename] = (len(text), None, lines, filename)  # no time stamp: never looked up on disk
    try:
        parts = _parts(text, filename) if is_copy else []
        parts = parts or [compile(text, filename, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotPythonError from error
    module = types.ModuleType(MODULE)
    module.__file__ = filename
    sys.modules[MODULE] = module
    for part in parts:
        exec(part, module.__dict__)
    return module


_ENCODING = re.compile(rb"(?:#.*)?\n?[ \t\f]*#.*coding[:=]")
_BEGIN = re.compile(rb"^(?=[A-Za-z_@])(?!(?:else|elif|except|finally)\b)(?<!\\\n)", re.MULTILINE)


def _parts(text: bytes, filename: str) -> list[types.CodeType]:
    """A program's statements, each compiled once for all copies; nothing where they cannot be told apart by lines."""
    if b"__future__" in text or _ENCODING.match(text):  # these are for all statements
        return []
    found, line = list[types.CodeType](), 0
    kept = b""
    for statement in _BEGIN.split(text):
        kept += statement
        if _decorates(kept):
            continue
        try:
            found.append(_compiled(kept, line, filename))
        except SyntaxError:  # a line of a longer string may look like the beginning of a statement
            continue
        line, kept = line + kept.count(b"\n"), b""
    return [] if kept else found


def _decorates(text: bytes) -> bool:
    """Return whether a function or class follows that belongs to it."""
    return text.startswith(b"@") and not re.search(rb"^(?:async def|def|class)\b", text, re.MULTILINE)


@lru_cache(1000)
def _compiled(statement: bytes, line: int, filename: str) -> types.CodeType:
    return compile(b"\n" * line + statement, filename, "exec", dont_inherit=True)


_hidden: dict[str, types.ModuleType] = {}


def hide_package() -> None:
    """Let no import find the judge's own modules in this process."""
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        _hidden[name] = sys.modules.pop(name)


def load_part(text: bytes, name: str) -> types.ModuleType:
    """Run a module of the judge's parts, which may import those that were sent before. Args: name: of the module."""
    package = f"{PACKAGE}.parts"
    module = types.ModuleType(f"{package}.{name}")
    module.__package__ = package
    sys.modules.update(_hidden)
    try:
        sys.modules[module.__name__] = module
        exec(compile(text, f"{name}.py", "exec", dont_inherit=True), module.__dict__)
    finally:
        hide_package()
    return module


class RefuseImports:
    """A finder that refuses what would hand a learner the solution."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in REFUSED:
            raise ImportError(
                f"a submission may import torch, numpy and the standard library, not '{name}'", name=name
            )
        return None
