"""`--format html`: one self-contained page, with the learner's source and each diagnosis beside it."""

from __future__ import annotations

import importlib.metadata
import platform
import re
from collections.abc import Iterator, Mapping, Sequence

import click

from grader.catalog import CATEGORIES, get_exercises
from grader.core.failures import Matrices, Named
from grader.core.results import Grade, Result, for_log
from grader.core.spots import Spot
from grader.learner.grading import failed_component
from grader.reports.for_learners import for_learners
from grader.reports.next_steps import counts, next_steps, out_of
from grader.reports.places import heading, sentences
from zoo.core.errors import PluginError
from zoo.pages.listing import Line, Mark, listing
from zoo.pages.pictures import Cell, heat_map
from zoo.pages.rendering import render

TEMPLATE = "grader.reports/grade.html"
STYLE = "grader.reports/grade.css"
STATUSES = {"passed": "passed", "failed": "failed", "skipped": "skipped", "error": "grader error"}


class HtmlReport:
    """See the module."""

    def add(self, grade: Grade) -> None:
        """Nothing yet: one document holds all."""

    def close(self, grades: Sequence[Grade]) -> None:
        """Print the document."""
        click.echo(for_log(page(grades)))


def page(grades: Sequence[Grade]) -> str:
    """The page of one file or several."""
    files = [File(grade, f"file-{number}-") for number, grade in enumerate(grades, start=1)]
    versions = {
        "transformer-zoo": importlib.metadata.version("transformer-zoo"),
        "torch": importlib.metadata.version("torch"),
        "Python": platform.python_version(),
    }
    return render(
        TEMPLATE,
        styles=[STYLE],
        files=files,
        versions=", ".join(f"{name} {version}" for name, version in versions.items()),
        out_of=out_of,
        statuses=STATUSES,
    )


class Picture:
    """A value that differs, as cells to draw, and words for what is to be seen."""

    def __init__(self, matrices: Matrices) -> None:
        right, got = matrices.right, matrices.got
        booleans = all(isinstance(x, bool) for row in (*right, *got) for x in row)
        low, high = (0.0, 1.0) if booleans else _range(right)
        self.title, self.legend = matrices.title, matrices.legend
        self.pair: list[tuple[str, list[list[Cell]]]] = [
            ("expected", heat_map(right, low=low, high=high)),
            ("yours", heat_map(got, low=low, high=high, other=right)),
        ]
        rows, columns = matrices.axes
        self.names = (rows or "row", columns or "column")
        self.axes = (f"Rows: {rows}; " if rows else "") + (f"columns: {columns}." if columns else "")
        self.axes = self.axes[:1].upper() + self.axes[1:]
        self.axes += f" This is {matrices.place}, counted from 0." if matrices.place else ""
        self.first = matrices.first
        self.colours = (
            "Dark is False, bright is True." if booleans else f"Dark is {low:.3g}, bright is {high:.3g}."
        )
        (top, left), (height, width) = matrices.first, matrices.size
        shown = (len(right), len(right[0]))
        self.part = (
            f"Rows {top} to {top + shown[0] - 1} of {height}, columns {left} to {left + shown[1] - 1} of {width}."
            if shown != (height, width)
            else ""
        )


def _range(rows: Sequence[Sequence[float]]) -> tuple[float, float]:
    """The range of what is expected, so that it can be told apart whatever came."""
    finite = [x for row in rows for x in row if abs(x) < float("inf")]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    return low, high if high > low else low + 1.0


class Failure:
    """A test that failed: what it says, each mistake that no earlier failure has explained, and pictures.

    Args:
        result: the test's.
        explained: ids of the mistakes that are explained already.
        id: of the element.
    """

    def __init__(self, result: Result, explained: set[str], id: str) -> None:
        self.result, self.id = result, id
        self.mistakes = [one for one in result.mistakes if one.id not in explained]
        self.known = [one.id for one in result.mistakes if one.id in explained]
        self.title = ", ".join(one.id for one in result.mistakes) or (
            f"{STATUSES[result.status]}: {result.title}"
        )
        self.pictures = [Picture(one) for one in result.matrices]

    def places(self) -> Iterator[tuple[Spot, Named | None]]:
        """Each place with the mistake that is there; None where it has no name."""
        named = [(one.where, one) for one in self.mistakes if one.where is not None]
        if named or self.result.where is None or self.result.mistakes:
            yield from named
        else:
            yield self.result.where, None

    def said(self, spot: Spot) -> list[str]:
        """Sentences on a place without a name."""
        return [*sentences(spot)]

    def heading(self, spot: Spot) -> str:
        """A place in words."""
        return heading(spot)


class Note:
    """A note below a line of the source: a mistake or failure in few words, and a link to the rest."""

    def __init__(self, failure: Failure, spot: Spot, mistake: Named | None) -> None:
        self.to, self.where = failure.id, heading(spot)
        self.title = failure.title if mistake is None else mistake.id
        if mistake is not None:
            self.texts = [re.split(r"(?<=[.!?])\s+", mistake.text, maxsplit=1)[0]]
        else:
            self.texts = failure.said(spot) or failure.result.message.splitlines()[:1]


class File:
    """All that the page says about one file.

    Args:
        grade: its grade.
        prefix: of the ids of its elements.
        hidden: leave out what a learner may not see on a platform, and the hints, the last of which say all.
    """

    def __init__(self, grade: Grade, prefix: str, *, hidden: bool = False) -> None:
        grade = for_learners(grade) if hidden else grade
        self.grade, self.prefix, self.hidden = grade, prefix, hidden
        self.verdict = "passed" if grade.passed else "failed"
        self.counts = counts(grade)
        self.steps = [one for one in next_steps(grade) if not (hidden and "--seed" in one[1])]
        self.failures: list[Failure] = []
        explained: set[str] = set()
        for result in grade.results:
            if result.status in ("failed", "error"):
                id = f"{prefix}failure-{len(self.failures) + 1}"
                self.failures.append(Failure(result, explained, id))
                explained |= {one.id for one in result.mistakes}
        places = [(one, spot, named) for one in self.failures for spot, named in one.places()]
        self.notes: dict[int, list[Note]] = {}
        for failure, spot, named in places:
            self.notes.setdefault(spot.end_line, []).append(Note(failure, spot, named))
        self.lines: list[Line] = listing(
            grade.source, [mark for _, spot, _ in places for mark in _marks(spot)]
        )
        self.hints = [] if grade.passed or hidden else _hints(grade)

    def failure_of(self, result: Result) -> Failure | None:
        """The element that explains a failed test."""
        return next((one for one in self.failures if one.result is result), None)

    @property
    def categories(self) -> list[tuple[str, list[Result]]]:
        """The tests of each category that has any."""
        names = dict.fromkeys([*CATEGORIES, *(one.category for one in self.grade.results)])
        found = [(name, [one for one in self.grade.results if one.category == name]) for name in names]
        return [(name, results) for name, results in found if results]


def _marks(spot: Spot) -> Iterator[Mark]:
    """The characters of a place; of one without columns, or where something is missing, the line as such."""
    if spot.why == "omitted" or spot.column is None or spot.end_column is None:
        yield Mark(spot.line, 0, 0)
        if spot.why == "omitted" and spot.other is not None:
            yield Mark(spot.other, 0, 0)
        return
    for line in range(spot.line, spot.end_line + 1):
        start = spot.column - 1 if line == spot.line else 0
        yield Mark(line, start, spot.end_column - 1 if line == spot.end_line else None)


def _hints(grade: Grade) -> Sequence[tuple[str, Sequence[str]]]:
    """The exercise's hints, from gentle to plain: those of the component that failed, then the others'."""
    exercise = get_exercises().get(grade.exercise)
    try:
        given: Mapping[str, Sequence[str]] = exercise.all_hints() if exercise is not None else {}
    except PluginError:
        return []
    names = dict.fromkeys([failed_component(grade), *grade.components])
    return [(name, given[name]) for name in names if name in given]
