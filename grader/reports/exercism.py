"""`--format exercism`: the results.json of Exercism's test runner interface, version 3.

https://exercism.org/docs/building/tooling/test-runners/interface
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from grader.core.results import Grade, Result
from grader.reports.for_learners import message_for_learners

MESSAGE_LIMIT = 65_535  # characters; the interface's own


def _test(result: Result, task: int) -> dict[str, Any]:
    status = {"passed": "pass", "error": "error"}.get(result.status, "fail")
    return {
        "name": result.title,
        "status": status,
        "message": None if status == "pass" else message_for_learners(result)[:MESSAGE_LIMIT],
        "output": None,
        "test_code": f"zoo grade --only {result.category}",
        "task_id": task,
    }


class ExercismReport:
    """See the module. Tests of one category are one task."""

    def add(self, grade: Grade) -> None:
        """Nothing yet."""

    def close(self, grades: Sequence[Grade]) -> None:
        """Print the object."""
        (grade,) = grades
        first = grade.results[0] if grade.results else None
        unusable = first is not None and first.status == "failed" and first.name in ("load", "rules")
        tasks = list(dict.fromkeys(result.category for result in grade.results))
        report: dict[str, Any] = {"version": 3, "status": "pass" if grade.passed else "fail", "message": None}
        if first is None or unusable:
            report["status"], report["message"] = (
                "error",
                message_for_learners(first) if first is not None else "No test was run.",
            )
        else:
            report["tests"] = [_test(result, tasks.index(result.category) + 1) for result in grade.results]
        click.echo(json.dumps(report, indent=2))
