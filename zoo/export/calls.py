"""Calls and parameters of functions, and how they look without some of them."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type,misc,assignment"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

import re
import textwrap
from functools import lru_cache
from typing import Any

import libcst as cst

from zoo.export.docstrings import docstring_line
from zoo.export.trees import code, docstring_of, walk, without_docstring

SIZES_ONLY = ("size", "dim", "numel", "len", "type", "new_caches")
"""Calls that change nothing and refuse nothing, so that they can be left out."""


@lru_cache(maxsize=50_000)
def calls_in(node: Any) -> list[cst.Call]:
    found: list[cst.Call] = []

    class Calls(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> None:
            found.append(node)

    walk(node, Calls())
    return found


def called(node: cst.Call) -> str | None:
    """The name of the function or method that a call names; None for anything else."""
    if isinstance(node.func, cst.Name):
        return node.func.value
    if isinstance(node.func, cst.Attribute) and code(node.func.value) != "super()":
        return node.func.attr.value
    return None


@lru_cache(maxsize=50_000)
def returned(function: cst.FunctionDef) -> list[Any]:
    found: list[Any] = []

    class Returns(cst.CSTVisitor):
        def visit_Return(self, node: cst.Return) -> None:
            found.append(node.value)

        def visit_Lambda(self, node: cst.Lambda) -> bool:
            return False

    walk(function.body, Returns())
    return found


@lru_cache(maxsize=50_000)
def droppable(node: cst.BaseExpression) -> bool:
    """Return whether an expression can be left out: it refuses nothing and changes nothing."""
    good = True

    class Calls(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> None:
            nonlocal good
            name = called(node) or ""
            good = good and (name in SIZES_ONLY or name[:1].isupper() or code(node.func).startswith("nn."))

        def visit_Lambda(self, node: cst.Lambda) -> bool:
            return False

    walk(node, Calls())
    return good


@lru_cache(maxsize=50_000)
def handed_on(node: Any) -> set[str]:
    """Functions that are handed on instead of being called, by name; methods as ".name"."""
    found: set[str] = set()

    class References(cst.CSTVisitor):
        def visit_Call(self, node: cst.Call) -> bool:
            target = node.func.value if isinstance(node.func, cst.Attribute) else node.func
            if not isinstance(target, cst.Name):
                walk(target, self)
            for one in node.args:
                walk(one.value, self)
            return False

        def visit_Attribute(self, node: cst.Attribute) -> None:
            found.add(f".{node.attr.value}")

        def visit_Name(self, node: cst.Name) -> None:
            found.add(node.value)

        def visit_Annotation(self, node: cst.Annotation) -> bool:
            return False

        def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
            walk(node.body, self)
            return False

        def visit_ClassDef(self, node: cst.ClassDef) -> bool:
            walk(node.body, self)
            return False

    walk(node, References())
    return found


def is_property(function: cst.FunctionDef) -> bool:
    """Return whether a method is a property."""
    return any(code(one.decorator) == "property" for one in function.decorators)


def keyword(name: str, value: cst.BaseExpression) -> cst.Arg:
    """An argument by keyword."""
    tight = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return cst.Arg(value, cst.Name(name), tight)


def with_arguments(call: cst.Call, arguments: list[cst.Arg]) -> cst.Call:
    """A call with other arguments, on one line."""
    plain = [
        one.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=cst.SimpleWhitespace(""))
        for one in arguments
    ]
    return call.with_changes(args=plain, whitespace_before_args=cst.SimpleWhitespace(""))


def with_keyword_only(given: cst.Parameters, kwonly: list[cst.Param]) -> cst.Parameters:
    """Parameters with others behind the star."""
    plain = [one.with_changes(comma=cst.MaybeSentinel.DEFAULT) for one in kwonly]
    star = (
        given.star_arg
        if isinstance(given.star_arg, cst.Param)
        else (cst.ParamStar() if plain else cst.MaybeSentinel.DEFAULT)
    )
    params = [one.with_changes(comma=cst.MaybeSentinel.DEFAULT) for one in given.params]
    return given.with_changes(params=params, kwonly_params=plain, star_arg=star)


def without_parameters(function: cst.FunctionDef, names: set[str]) -> cst.FunctionDef:
    """A function without some of its parameters, nor their lines in its docstring."""
    given = function.params
    params = given.with_changes(params=[one for one in given.params if one.name.value not in names])
    params = with_keyword_only(params, [one for one in given.kwonly_params if one.name.value not in names])
    changed = function.with_changes(params=params, whitespace_before_params=cst.SimpleWhitespace(""))
    document = docstring_of(changed.body)
    if document is None:
        return changed
    lines: list[str] = []
    skipping, depth = False, 0
    for line in document.split("\n"):
        indent = len(line) - len(line.lstrip())
        head = line.strip().partition(":")[0]
        if skipping and line.strip() and indent > depth:
            continue
        skipping = ":" in line and head in names
        if skipping:
            depth = indent
            continue
        lines.append(line)
    text = without_mention("\n".join(lines), names)
    if function.name.value == "__init__" and "Args:" not in document:
        text = ""
    text = re.sub(r"\n? *Args:\n(?=\s*(\n|$|Returns:|Raises:))", "\n", text)
    line = docstring_line(text if text.strip() else None, 8)
    return changed.with_changes(
        body=changed.body.with_changes(body=[*line, *without_docstring(changed.body)])
    )


def without_mention(text: str, names: set[str]) -> str:
    """A docstring without the sentences that speak of these parameters."""
    if not any(f"`{name}`" in text for name in names):
        return text
    parts = [*re.split(r"(?<=[.])(?<! al[.])(\s+)", text), ""]  # et al. ends none
    sentences = list(zip(parts[::2], parts[1::2], strict=True))  # each with the space behind it
    kept: list[str] = []
    for sentence, space in sentences:
        if not any(f"`{name}`" in sentence for name in names):
            kept += [sentence, space]
        elif kept and "\n\n" in space:
            kept[-1] = space
    return refilled("".join(kept).rstrip())


def refilled(text: str) -> str:
    """A docstring with short lines inside of its plain paragraphs filled up."""
    first, *rest = re.split(r"\n[ ]*\n", text)
    paragraphs = [first]
    least = min((len(one) - len(one.lstrip()) for one in rest if one.strip()), default=0)
    for one in rest:
        indents = {len(line) - len(line.lstrip()) for line in one.split("\n")}
        if indents == {least} and one.strip():
            pad = " " * least
            one = textwrap.fill(" ".join(one.split()), 110, initial_indent=pad, subsequent_indent=pad)
        paragraphs.append(one)
    return "\n\n".join(paragraphs)
