"""The hooks that the grader adds to the zoo's: empty, documented functions, nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from zoo.core.hookspecs import hookspec

if TYPE_CHECKING:
    from grader.catalog import Exercise, MistakeCollection
    from grader.classroom.engines import Engine
    from grader.classroom.late import LateRule
    from grader.reports import ReportFormat


@hookspec
def zoo_exercises() -> Iterable[Exercise]:  # type: ignore[empty-body]
    """Exercises to grade. Called once, when exercises are first needed; must not import torch or pytest.

    Returns:
        any number of `grader.catalog.Exercise`. A name or file name that is taken already is an error
        of the plugin that comes later, which is then skipped.
    """


@hookspec
def zoo_mistakes() -> Iterable[MistakeCollection]:  # type: ignore[empty-body]
    """Collections of known mistakes. Called when a failure is to be named; must not import torch.

    Returns:
        any number of `grader.catalog.MistakeCollection`. All that name the same exercise are tried, in
        the order in which plugins were registered.
    """


@hookspec
def zoo_reports() -> Iterable[ReportFormat]:  # type: ignore[empty-body]
    """Report formats for `zoo grade --format`. Called once, when formats are first needed.

    Returns:
        any number of `grader.reports.ReportFormat`. A name that is taken already is an error of the
        plugin that comes later, which is then skipped.
    """


@hookspec
def zoo_late_rules() -> Iterable[LateRule]:  # type: ignore[empty-body]
    """Late rules for `zoo class late --rule`. Called once, when rules are first needed.

    Returns:
        any number of `grader.classroom.late.LateRule`. A name that is taken already is an error of the
        plugin that comes later, which is then skipped.
    """


@hookspec
def zoo_engines() -> Iterable[Engine]:  # type: ignore[empty-body]
    """Engines for `zoo class grade --engine`. Called once, when engines are first needed; must not import torch, or
    what the engine uses.

    Returns:
        any number of `grader.classroom.engines.Engine`. A name that is taken already is an error of the
        plugin that comes later, which is then skipped.
    """
