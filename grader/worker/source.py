"""Turns a submission's text into a module."""

from __future__ import annotations

import linecache
import sys
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec

MODULE = "submission"  # its name in `sys.modules`: says nothing of where it runs
REFUSED = ("zoo", "grader")


class NotPythonError(Exception):
    """The text does not compile; the compiler's exception is the cause."""


def load(text: bytes, filename: str) -> types.ModuleType:
    """Compile and run a submission's source, in a fresh module.

    Args:
        text: the source, as it stands in the file.
        filename: the name that tracebacks show.

    Raises:
        NotPythonError: it does not compile.
        BaseException: whatever the source raises.
    """
    lines = text.decode("utf-8", "replace").splitlines(keepends=True)
    linecache.cache[filename] = (len(text), None, lines, filename)  # no time stamp: never looked up on disk
    try:
        code = compile(text, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise NotPythonError from error
    module = types.ModuleType(MODULE)
    module.__file__ = filename
    sys.modules[MODULE] = module
    exec(code, module.__dict__)
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
