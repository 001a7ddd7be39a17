"""`--format gradescope`: the results.json that Gradescope's autograder reads.

https://gradescope-autograders.readthedocs.io/en/latest/specs/
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from grader.core.results import Grade, Result
from grader.reports.for_learners import message_for_learners, number

VISIBILITIES = ("visible", "hidden", "after_due_date", "after_published")


def _test(place: int, result: Result, visibility: str) -> dict[str, Any]:
    return {
        "number": str(place),
        "name": result.title,
        "score": number(result.points),
        "max_score": number(result.max_points),
        "status": "passed" if result.status == "passed" else "failed",
        "output": message_for_learners(result),
        "output_format": "text",
        "tags": [result.category],
        "visibility": visibility,
    }


class GradescopeReport:
    """See the module.

    Args:
        visibility: of every test, one of `VISIBILITIES`.
    """

    def __init__(self, visibility: str = "visible") -> None:
        self._visibility = visibility

    def add(self, grade: Grade) -> None:
        """Nothing yet."""

    def close(self, grades: Sequence[Grade]) -> None:
        """Print the object."""
        (grade,) = grades
        results = [_test(i, result, self._visibility) for i, result in enumerate(grade.results, 1)]
        # Gradescope keeps the total back where tests are; the line that all may read must not tell it
        points = f": {number(grade.points)} of {number(grade.max_points)} points."
        report = {
            "score": number(grade.points),
            "execution_time": round(grade.duration_s, 3),
            "output": grade.title + (points if self._visibility == "visible" else " was graded."),
            "output_format": "text",
            "visibility": "visible",
            "stdout_visibility": "hidden",
            "tests": results,
            "extra_data": {
                "exercise": grade.exercise,
                "mistakes": [one.id for one in grade.mistakes],
                "lines": [one.where and one.where.line for one in grade.mistakes],
            },
        }
        click.echo(json.dumps(report, indent=2))
