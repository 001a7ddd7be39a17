"""`--format markdown`: a page for a pull request or an issue, written for the learner."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import click

from grader.core.results import Grade, Result, clean, for_log
from grader.reports.for_learners import message_for_learners

SIGNS = {"passed": "passed", "failed": "**failed**", "skipped": "skipped", "error": "**error**"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@:-])")


def escaped(text: str) -> str:
    """Text as it is, on one line: nothing in it is Markdown, HTML, a link or a mention."""
    return _SPECIAL.sub(r"\\\1", " ".join(clean(text).split())).replace("\\<", "&lt;").replace("\\>", "&gt;")


def fenced(text: str) -> str:
    """Text in a block of code that it cannot end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


class MarkdownReport:
    """See the module."""

    def add(self, grade: Grade) -> None:
        """Print the section of one file."""
        click.echo(for_log("\n".join(_section(grade)) + "\n"))

    def close(self, grades: Sequence[Grade]) -> None:
        """Nothing is left."""


def _section(grade: Grade) -> Iterator[str]:
    yield f"## {escaped(grade.title)}: {grade.points:g} of {grade.max_points:g} points"
    yield ""
    yield f"{escaped(grade.file)} ({', '.join(f'`{one}`' for one in grade.components)})"
    yield ""
    yield "| | category | test | points |"
    yield "|---|---|---|---:|"
    for result in grade.results:
        points = f"{result.points:g}/{result.max_points:g}"
        yield f"| {SIGNS[result.status]} | {result.category} | {escaped(result.title)} | {points} |"
    for result in grade.results:
        if result.status in ("failed", "error"):
            yield from _failure(result)


def _failure(result: Result) -> Iterator[str]:
    names = ", ".join(f"`{one.id}`" for one in result.mistakes)
    yield ""
    yield f"### {names or escaped(result.title)}"
    yield ""
    yield fenced(message_for_learners(result))
