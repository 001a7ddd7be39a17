"""The grader as a plugin of the zoo. Loaded at every start of `zoo`, so it imports next to nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zoo.hookspecs import hookimpl

if TYPE_CHECKING:
    import click
    import pluggy

    from grader.exercise import Exercise, MistakeCollection
    from grader.reports import ReportFormat


@hookimpl
def zoo_addhooks(manager: pluggy.PluginManager) -> None:
    from grader import hookspecs

    manager.add_hookspecs(hookspecs)


@hookimpl
def zoo_commands(cli: click.Group) -> None:
    from grader.cli.grade import grade

    cli.add_command(grade)


@hookimpl
def zoo_exercises() -> Iterable[Exercise]:
    from grader.exercise import Exercise

    return [
        Exercise(
            name="attention",
            title="Scaled dot-product attention and multi-head attention",
            file="attention.py",
            components=("scaled_dot_product_attention", "MultiHeadAttention"),
            suite="grader.suites.attention",
            tests=("test_function.py", "test_class.py", "test_training.py"),
            reference="grader.reference.attention",
            solution="grader.solutions.attention",
            template="grader.templates:attention.py",
            hints="grader.hints.attention:HINTS",
        )
    ]


@hookimpl
def zoo_mistakes() -> Iterable[MistakeCollection]:
    from grader.exercise import MistakeCollection

    return [MistakeCollection("attention", "grader.mistakes.attention:MISTAKES")]


@hookimpl
def zoo_reports() -> Iterable[ReportFormat]:
    from grader.reports import ReportFormat

    return [
        ReportFormat("terminal", "a page for people", "grader.reports.terminal:TerminalReport"),
        ReportFormat(
            "json", "one JSON object (an array for several files)", "grader.reports.json:JsonReport"
        ),
    ]
