"""`--format terminal`: a page for people, 80 columns wide, in colour where the terminal has it."""

from __future__ import annotations

import os
import shlex
import sys
import textwrap
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import click
from tabulate import tabulate

from grader.catalog import get_exercises
from grader.core.failures import Named
from grader.core.results import Grade, Result, clean

WIDTH = 80
_COLOURS = {"passed": "green", "failed": "red", "error": "magenta", "skipped": "yellow"}


class TerminalReport:
    """See the module."""

    def add(self, grade: Grade) -> None:
        """Print the page of one file."""
        echo("\n".join(page(grade)) + "\n")

    def close(self, grades: Sequence[Grade]) -> None:
        """With several files, print a table of all."""
        if len(grades) > 1:
            echo("\n".join(overview(grades)))


def echo(text: str) -> None:
    """Print, also where standard output cannot show every character; click takes colours out of pipes."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    colourless = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"  # no-color.org
    click.echo(text.encode(encoding, "replace").decode(encoding), color=False if colourless else None)


def page(grade: Grade) -> Iterator[str]:
    """The lines of one file's page."""
    components = ", ".join(grade.components)
    yield from _wrap(f"Graded {clean(grade.file)}: {components}")
    seconds = f"{grade.duration_s:.1f} s"
    where = grade.device + (f", sandbox {grade.sandbox}" if grade.sandbox else "")
    yield from _wrap(f"Exercise {grade.exercise} ({grade.title}), on {where}, seed {grade.seed}, {seconds}")
    yield ""
    yield _table(grade)
    yield ""
    yield from _left_out(grade)
    told: set[str] = set()
    for result in grade.results:
        if result.status in ("failed", "error"):
            yield from _failure(result, told)
            told |= {mistake.id for mistake in result.mistakes}
    yield from _closing(grade)


def overview(grades: Sequence[Grade]) -> Iterator[str]:
    """One line a file."""
    rows = [
        (
            _status("passed" if grade.passed else "failed"),
            textwrap.shorten(clean(grade.file), 40, placeholder="..."),
            _points(grade.points, grade.max_points),
            "\n".join(mistake.id for mistake in grade.mistakes),
        )
        for grade in grades
    ]
    yield tabulate(rows, headers=("", "file", "points", "mistakes"), tablefmt="simple", disable_numparse=True)
    yield ""
    yield f"{sum(grade.passed for grade in grades)} of {len(grades)} files passed."


def _table(grade: Grade) -> str:
    rows = [
        (_status(result.status), result.category, result.title, _points(result.points, result.max_points))
        for result in grade.results
    ]
    rows.append(
        (_status("passed" if grade.passed else "failed"), "", "", _points(grade.points, grade.max_points))
    )
    return tabulate(
        rows,
        headers=("", "category", "test", "points"),
        tablefmt="simple",
        maxcolwidths=[None, None, 48, None],
        colalign=("left", "left", "left", "right"),
        disable_numparse=True,
    )


def _left_out(grade: Grade) -> Iterator[str]:
    reasons = Counter(result.message for result in grade.results if result.status == "skipped")
    for reason, count in reasons.items():
        yield from _wrap(f"{count} test{'s' if count > 1 else ''} skipped: {reason}", hanging=2)
    if reasons:
        yield ""


def _failure(result: Result, told: Collection[str]) -> Iterator[str]:
    """One failure; of mistakes that were `told` before, no more than the names."""
    names = ", ".join(m.id + " (see above)" * (m.id in told) for m in result.mistakes)
    new = [mistake for mistake in result.mistakes if mistake.id not in told]
    heading = "a fault of the grader" if result.status == "error" else names
    yield click.style(heading or f"failed: {result.title}", fg=_COLOURS[result.status], bold=True)
    if heading:
        yield from _indented("Test", result.title)
    for mistake in new:
        yield from _mistake(mistake)
    yield from _indented("Seen", result.message)
    for mistake in new:
        yield from _indented("Hint", mistake.hint)
    if result.picture:
        yield ""
        yield textwrap.indent(result.picture.rstrip("\n"), "  ")
    yield ""


def _mistake(mistake: Named) -> Iterator[str]:
    yield from _wrap(mistake.text, indent="  ")
    yield from _indented("Formula", mistake.formula)
    yield from _indented("Source", mistake.source)


def _indented(label: str, text: str) -> Iterator[str]:
    """`  Label    text`, the text in one column."""
    for number, line in enumerate(_wrap(text, indent=" " * 11) if text else ()):
        yield click.style(f"  {label:<9}", dim=True) + line[11:] if number == 0 else line


def _closing(grade: Grade) -> Iterator[str]:
    points = _points(grade.points, grade.max_points)
    file = shlex.quote(clean(grade.file))
    if grade.passed and grade.selection:
        yield from _wrap(f"All of these passed: {points} points. Next, all tests:")
        yield f"  zoo grade {file}{grade.options}"
    elif grade.passed:
        yield click.style(f"All passed: {points} points.", fg="green", bold=True)
        if grade.next_exercise:
            yield f"Next: {_beside(grade)}"
        yield f"To compare with yours: zoo solution {_named(grade)}"
    else:
        first = next((result for result in grade.results if result.status == "failed"), grade.results[0])
        if first.name in ("load", "rules"):
            yield from _wrap(f"{points} points. Mend this, and grade again:")
            yield f"  zoo grade {file}{grade.options}{grade.selection}"
            return
        yield from _wrap(f"{points} points. Mend the first failure, then look at its tests alone:")
        yield f"  zoo grade {file}{grade.options} --only {first.category}"
        yield "The same grade once more, number by number:"
        yield f"  zoo grade {file}{grade.options}{grade.selection} --seed {grade.seed}"
        yield "Stuck? A hint, and a little more each time:"
        yield f"  zoo hint {_named(grade)}"


def _in_place(grade: Grade) -> bool:
    """Whether the file has the name by which its exercise is known."""
    exercise = get_exercises().get(grade.exercise)
    return exercise is not None and Path(grade.file).name == exercise.file


def _named(grade: Grade) -> str:
    """The exercise, as a further command is told of it."""
    return shlex.quote(clean(grade.file)) if _in_place(grade) else grade.exercise


def _beside(grade: Grade) -> str:
    """The file of the exercise to do next."""
    folder = Path(grade.file).parent if _in_place(grade) else Path("exercises")
    return clean(str(folder / grade.next_exercise))


def _status(status: str) -> str:
    return click.style(status, fg=_COLOURS[status])


def _points(points: float, max_points: float) -> str:
    return f"{points:g}/{max_points:g}"


def _wrap(text: str, indent: str = "", hanging: int = 0) -> Iterator[str]:
    """Lines of at most `WIDTH` columns. Lines that fit stay as they are, so small tables survive."""
    for line in text.splitlines():
        if len(indent + line) <= WIDTH:
            yield indent + line
            continue
        start = indent + line[: len(line) - len(line.lstrip())]
        yield from textwrap.wrap(
            line.lstrip(),
            WIDTH,
            initial_indent=start,
            subsequent_indent=start + " " * hanging,
            break_on_hyphens=False,
        )
