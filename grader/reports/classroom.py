"""`--format github-classroom`: what classroom-resources/autograding-grading-reporter reads, base64 of a JSON object.

In a workflow: `echo "result=$(zoo grade FILE --format github-classroom)" >> "$GITHUB_OUTPUT"`.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from typing import Any

import click

from grader.core.results import Grade, Result
from grader.reports.for_learners import message_for_learners, number

STATUS = {"passed": "pass", "failed": "fail", "skipped": "fail", "error": "error"}
_COMMAND = re.compile(r"^(\s*:)(?=:)|(##)(?=\[)", re.MULTILINE)


def uncommanded(text: str) -> str:
    """Text without workflow commands: the reporter prints messages to its log as they are, and the runner obeys."""
    return _COMMAND.sub(lambda found: found[0] + " ", text)


def _test(result: Result, file: str) -> dict[str, Any]:
    return {
        "name": result.title,
        "status": STATUS[result.status],
        "score": number(result.points),
        "message": uncommanded(message_for_learners(result)) or None,
        "test_code": f"zoo grade {file} --only {result.category}",
        "filename": "",
        "line_no": 0,
        "duration": 0,
    }


class ClassroomReport:
    """See the module."""

    def add(self, grade: Grade) -> None:
        """Nothing yet."""

    def close(self, grades: Sequence[Grade]) -> None:
        """Print one line."""
        (grade,) = grades
        broken = any(result.status == "error" for result in grade.results)
        report = {
            "version": 1,
            "status": "pass" if grade.passed else "error" if broken else "fail",
            "max_score": number(grade.max_points),
            "tests": [_test(result, f"{grade.exercise}.py") for result in grade.results],
        }
        click.echo(base64.b64encode(json.dumps(report).encode()).decode("ascii"))
