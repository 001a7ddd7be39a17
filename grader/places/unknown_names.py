"""Says what an exception for a name that is not there means."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from grader.core.value_trace import Place
from grader.edits.source_tree import Source

TYPES: Mapping[str, object] = {
    "Tensor": Tensor,
    "torch": torch,
    "nn": nn,
    "functional": nn.functional,
    "list": list,
    "str": str,
    "dict": dict,
}  # whose names an exception may speak of


def unknown(source: Source, line: int, message: str) -> tuple[str, str]:
    """What an exception for a name that is not there means, and what may have been meant; "" for other exceptions."""
    found = re.search(r"(?:name|variable) '(\w+)' (is not defined|where it|referenced)", message)
    if found is not None:
        name, known = found[1], source.names(line)
        if name in known and found[2] != "is not defined":
            return f"`{name}` has no value yet", f"a line before that gives `{name}` a value"
        near = _nearest(name, {*known, *dir(builtins)} - {name})
        return f"`{name}` is not defined", f"`{near}`" if near else f"a line before that defines `{name}`"
    found = re.search(r"'([\w.]+)'(?: object)? has no attribute '(\w+)'", message)
    if found is None:
        return "", ""
    of, name = found[1].rpartition(".")[2], found[2]
    if any(ast.unparse(node) == f"self.{name}" for node in source.reads(Place(line, line))):
        made = source.stored(name)
        if made is not None:
            return (
                f"`self.{name}` is assigned in line {made}, which has not run",
                "a value that is always there",
            )
        near = _nearest(name, source.attributes)
        return (
            f"`self.{name}` is never assigned",
            f"`self.{near}`" if near else f"`self.{name} = ...` in `__init__`",
        )
    near = _nearest(name, dir(TYPES[of])) if of in TYPES else ""
    return (f"`{of}` has no attribute `{name}`", f"`{near}`") if near else ("", "")


def _nearest(name: str, known: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(name, known, 1)), "")
