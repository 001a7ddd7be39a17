"""`--format json`: one object on standard output for one file, an array of them for several."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import click

from grader.core.failures import Named
from grader.core.results import Grade, Result, clean
from grader.core.spots import Spot


def _mistakes(mistakes: Iterable[Named]) -> list[dict[str, Any]]:
    return [{"id": one.id, "text": one.text, "where": _where(one.where)} for one in mistakes]


def _where(spot: Spot | None) -> dict[str, Any] | None:
    return None if spot is None else spot.as_object()


def _test(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "category": result.category,
        "status": result.status,
        "points": result.points,
        "max_points": result.max_points,
        "message": result.message,
        "mistakes": _mistakes(result.mistakes),
        "where": _where(result.where),
    }


def as_object(grade: Grade) -> dict[str, Any]:
    """The grade as a JSON object, with the keys that design and documentation fix."""
    return {
        "exercise": grade.exercise,
        "file": clean(grade.file),
        "component": ", ".join(grade.components),
        "device": grade.device,
        "sandbox": grade.sandbox,
        "seed": grade.seed,
        "passed": grade.passed,
        "points": grade.points,
        "max_points": grade.max_points,
        "duration_s": round(grade.duration_s, 3),
        "mistakes": _mistakes(grade.mistakes),
        "tests": [_test(result) for result in grade.results],
    }


class JsonReport:
    """See the module."""

    def add(self, grade: Grade) -> None:
        """Nothing yet: one document holds all."""

    def close(self, grades: Sequence[Grade]) -> None:
        """Print the document."""
        objects = [as_object(grade) for grade in grades]
        click.echo(json.dumps(objects if len(objects) > 1 else objects[0], indent=2))
