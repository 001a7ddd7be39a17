"""Docstrings of the exported file: without the zoo, with the arguments of a class and its bases together."""

# mypy: disable-error-code="attr-defined,no-any-return,arg-type"
# (nodes of libcst are told apart by what they hold)

from __future__ import annotations

import re
import textwrap
from dataclasses import fields
from typing import Any

import libcst as cst

from zoo.core.blueprint import Sizes
from zoo.export.trees import docstring_of, parameters, without_docstring

SIZES = {one.name for one in fields(Sizes)}
"""Parameters that the configuration describes."""


def docstring_line(text: str | None, indent: int) -> list[Any]:
    """The statement of a docstring, as a list of one or none."""
    if text is None or not text.strip():
        return []
    text = _tidied(text)
    if not text:
        return []
    if "\n" in text:
        pad = " " * indent
        text = f"{text.rstrip()}\n{pad}"
    quoted = f'r"""{text}"""' if "\\" in text else f'"""{text}"""'
    return [cst.parse_statement(quoted)]


def with_docstring(node: Any, text: str | None) -> Any:
    """A function with this docstring, or none."""
    line = docstring_line(text, 8)
    return node.with_changes(body=node.body.with_changes(body=[*line, *without_docstring(node.body)]))


def _tidied(text: str) -> str:
    """A docstring without the sentences that speak of the zoo."""
    sentences = re.split(r"(?<=[.;:])(\s+)", text)
    kept: list[str] = []
    for one in sentences:
        if re.search(
            r"`zoo\.|\bzoo\b|\bthe builder\b|ariants differ|other variants|all (exact )?variants|[Aa]s elsewhere",
            one,
        ):
            if kept and kept[-1].strip() == "":
                kept[-1] = "\n" if "\n\n" in kept[-1] else ""
            for place in range(len(kept) - 1, -1, -1):
                if kept[place].strip():
                    kept[place] = re.sub(r"[:;]$", ".", kept[place])
                    break
            continue
        kept.append(one)
    text = "".join(kept).rstrip()
    if text.endswith(";"):
        text = text[:-1] + "."
    return re.sub(r"\n[ ]*\n[ ]*\n", "\n\n", text)


ARGUMENT = re.compile(r"^( *)([a-z_][\w, ]*): (.*)$")


def argument_texts(text: str | None) -> dict[str, str]:
    """The text of a docstring on each parameter."""
    found: dict[str, str] = {}
    if not text or "Args:" not in text:
        return found
    current, inside, indent = "", False, 0
    for line in text.split("\n"):
        if line.strip() == "Args:":
            inside, indent = True, len(line) - len(line.lstrip())
            continue
        if not inside or not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        if depth <= indent:
            inside = False
            continue
        match = ARGUMENT.match(line)
        if match and depth == indent + 4:
            current = match[2]
            found[current] = match[3].strip()
        elif current:
            found[current] += " " + line.strip()
    return found


def joined_arguments(base: cst.FunctionDef, node: cst.FunctionDef) -> str | None:
    """A docstring of both constructors' parameters; None if they are not described one by one."""
    texts = {**argument_texts(docstring_of(base.body)), **argument_texts(docstring_of(node.body))}
    names = [one.name.value for one in parameters(node)]
    if texts.keys() >= {*names}:
        names = [name for name in names if name not in SIZES]
        return arguments_docstring({name: texts[name] for name in names}) if names else ""
    if not texts or not all(name in texts for name in names):
        return None
    return arguments_docstring({name: texts[name] for name in names})


def arguments_docstring(texts: dict[str, str]) -> str:
    """A docstring that describes parameters, for a method."""
    lines = ["", "        Args:"]
    for name, text in texts.items():
        lines += textwrap.wrap(f"{name}: {text}", 108, initial_indent=" " * 12, subsequent_indent=" " * 16)
    return "\n".join(lines)
