"""The grader as a plugin of the zoo. Loaded at every start of `zoo`, so it imports next to nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zoo.core.hookspecs import hookimpl

if TYPE_CHECKING:
    import click
    import pluggy

    from grader.catalog import Exercise
    from grader.classroom.engines import Engine
    from grader.classroom.late import LateRule
    from grader.reports import ReportFormat
    from zoo.notebook import Magics


@hookimpl
def zoo_addhooks(manager: pluggy.PluginManager) -> None:
    from grader import hookspecs

    manager.add_hookspecs(hookspecs)


@hookimpl
def zoo_commands(cli: click.Group) -> None:
    from grader.cli.commands import add_to
    from grader.cli.dev import dev

    add_to(cli)
    cli.add_command(dev)


@hookimpl
def zoo_extend_command(name: str, command: click.Command) -> None:
    if name in ("build", "train", "export"):
        from grader.cli.mine import add_mine

        add_mine(name, command)


@hookimpl
def zoo_notebook(magics: Magics) -> None:
    from grader.notebook import add_to

    add_to(magics)


@hookimpl
def zoo_exercises() -> Iterable[Exercise]:
    from grader.exercises import built_in

    return built_in()


@hookimpl
def zoo_late_rules() -> Iterable[LateRule]:
    from grader.classroom.late import built_in

    return built_in()


@hookimpl
def zoo_engines() -> Iterable[Engine]:
    from grader.classroom.engines import built_in

    return built_in()


@hookimpl
def zoo_reports() -> Iterable[ReportFormat]:
    from grader.reports import ReportFormat

    return [
        ReportFormat(
            "terminal",
            "a readable page",
            "grader.reports.terminal:TerminalReport",
            takes=("show_all",),
        ),
        ReportFormat(
            "json", "one JSON object (an array for several files)", "grader.reports.json:JsonReport"
        ),
        ReportFormat("html", "a self-contained page for a browser", "grader.reports.html:HtmlReport"),
        ReportFormat("junit", "JUnit XML, for CI", "grader.reports.junit:JunitReport"),
        ReportFormat("markdown", "a page for an issue", "grader.reports.markdown:MarkdownReport"),
        ReportFormat(
            "gradescope",
            "Gradescope's results.json",
            "grader.reports.gradescope:GradescopeReport",
            single=True,
            takes=("visibility",),
        ),
        ReportFormat(
            "github-classroom",
            "GitHub Classroom's base64 JSON",
            "grader.reports.classroom:ClassroomReport",
            single=True,
        ),
        ReportFormat(
            "exercism", "Exercism's results.json, v3", "grader.reports.exercism:ExercismReport", single=True
        ),
    ]
