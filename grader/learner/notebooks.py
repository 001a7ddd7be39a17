"""Exercises as notebooks, made from the same templates: the explanation as text, the code as a cell that is graded."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from grader.catalog import Exercise

HEADING = re.compile(r"^(?P<title>\S.*?)(?: {2,}(?P<source>\S.*))?\n-{5,}$", re.MULTILINE)
INDENTED = re.compile(r"^(?: {4}|\t)")
DUNDER = re.compile(r"(?<!`)\b(__\w+__)\b(?!`)")
LOAD = "%load_ext zoo"
AFTER = "Run the cell to grade it: it is saved as `{file}`, too. Then try your code out, or ask for help:"


def notebook_name(exercise: Exercise) -> str:
    """Return the name of the notebook: "attention.ipynb"."""
    return Path(exercise.file).with_suffix(".ipynb").name


def notebook_text(exercise: Exercise, template: str) -> str:
    """Return an exercise as a notebook (nbformat 4.5).

    Args:
        exercise: what the template is of.
        template: its file, as `zoo start` copies it: a docstring, then code.
    """
    explanation, code = _parts(template)
    explanation = explanation.replace(f"then run\n\n    zoo grade {exercise.file}\n", "then run that cell.\n")
    cells = [
        _cell("markdown", f"# {exercise.title}\n\n{markdown(explanation)}"),
        _cell("code", LOAD),
        _cell("code", f"%%zoo {exercise.name}\n{code}"),
        _cell("markdown", AFTER.format(file=exercise.file)),
        _cell("code", f"%run {exercise.file}"),
        _cell("code", f"%zoo hint {exercise.name}"),
        _cell("code", f"%zoo trace {exercise.name}"),
        _cell("code", "%zoo progress"),
    ]
    for number, cell in enumerate(cells, start=1):
        cell["id"] = f"{exercise.name}-{number}"
    notebook = {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def markdown(text: str) -> str:
    """The explanation of a template as Markdown: headings, blocks of formulas, and no accident with other signs."""

    def heading(found: re.Match[str]) -> str:
        return f"## {found['title']}" + (f"\n\n*{found['source']}*" if found["source"] else "")

    lines = []
    for line in HEADING.sub(heading, text).splitlines():
        if not INDENTED.match(line):  # blocks are copied unchanged
            line = DUNDER.sub(r"`\1`", line).replace("<", "&lt;").replace("$", r"\$")
        lines.append(line)
    return "\n".join(lines).strip()


def _parts(template: str) -> tuple[str, str]:
    """The docstring of a template, and what follows it."""
    tree = ast.parse(template)
    explanation = ast.get_docstring(tree) or ""
    end = (tree.body[0].end_lineno or 0) if explanation else 0
    return explanation, "\n".join(template.splitlines()[end:]).strip() + "\n"


def _cell(kind: str, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": kind,
        "metadata": {},
        "source": source.rstrip("\n").splitlines(keepends=True),
    }
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
