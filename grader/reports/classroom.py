"""`--format github-classroom`: what classroom-resources/autograding-grading-reporter reads, base64 of a JSON object.

In a workflow: `echo "result=$(zoo grade FILE --format github-classroom)" >> "$GITHUB_OUTPUT"`. Annotations, which show
a mistake at its line on GitHub, go to standard error: the runner reads both, the output above only the first.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from grader.core.results import Grade, Result, clean, uncommanded
from grader.core.spots import Spot
from grader.reports.for_learners import message_for_learners, number
from grader.reports.places import heading

STATUS = {"passed": "pass", "failed": "fail", "skipped": "fail", "error": "error"}


def _test(result: Result, file: str) -> dict[str, Any]:
    return {
        "name": result.title,
        "status": STATUS[result.status],
        "score": number(result.points),
        "message": uncommanded(message_for_learners(result)) or None,
        "test_code": f"zoo grade {file} --only {result.category}",
        "filename": file if result.where else "",
        "line_no": result.where.line if result.where else 0,
        "duration": 0,
    }


def error_commands(grade: Grade) -> Iterator[str]:
    """Workflow commands, one for each failed test with a place, one for each further place of its mistakes.

    https://docs.github.com/actions/reference/workflow-commands-for-github-actions#setting-an-error-message
    """
    seen: set[tuple[int, str]] = set()
    for result in grade.results:
        if result.status != "failed" or result.where is None:
            continue
        named = [(one.id, one.where, f"{one.text}\nHint: {one.hint}") for one in result.mistakes]
        for title, spot, text in named or [(result.title, result.where, message_for_learners(result))]:
            if spot is not None and (spot.line, title) not in seen:
                seen.add((spot.line, title))
                yield _annotation(_path(grade.file), title, spot, text)


def _annotation(file: str, title: str, spot: Spot, text: str) -> str:
    said = {"file": file, "line": spot.line, "endLine": spot.end_line}
    if spot.line == spot.end_line and spot.column is not None and spot.end_column is not None:
        said |= {"col": spot.column, "endColumn": spot.end_column - 1}
    said["title"] = title
    if heading(spot) != f"line {spot.line}":
        text += f"\nPlace: {heading(spot)}."
    properties = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in said.items())
    return f"::error {properties}::{_escaped(uncommanded(clean(text)))}"


def _escaped(text: str, more: str = "") -> str:
    """Text as @actions/core escapes it: what would end a command, and in properties what separates them."""
    for c in "%\r\n" + more:
        text = text.replace(c, f"%{ord(c):02X}")
    return text


def _path(file: str) -> str:
    """The file's path in the repository, which annotations want."""
    root = os.environ.get("GITHUB_WORKSPACE", "")
    path = Path(file).absolute()
    return path.relative_to(root).as_posix() if root and path.is_relative_to(root) else clean(file)


class ClassroomReport:
    """See the module."""

    def add(self, grade: Grade) -> None:
        """Nothing yet."""

    def close(self, grades: Sequence[Grade]) -> None:
        """Print one line, and the annotations to standard error."""
        (grade,) = grades
        for one in error_commands(grade):
            click.echo(one, err=True)
        broken = any(result.status == "error" for result in grade.results)
        report = {
            "version": 1,
            "status": "pass" if grade.passed else "error" if broken else "fail",
            "max_score": number(grade.max_points),
            "tests": [_test(result, f"{grade.exercise}.py") for result in grade.results],
        }
        click.echo(base64.b64encode(json.dumps(report).encode()).decode("ascii"))
