"""The report formats of `zoo grade`. Metadata only; a format is imported when it is used."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Protocol

from zoo.core.errors import PluginError, unknown_name
from zoo.core.plugins import get_plugins

if TYPE_CHECKING:
    from grader.core.results import Grade


class Report(Protocol):
    """A report in the making, for one run of `zoo grade`. It writes to standard output and nowhere else."""

    def add(self, grade: Grade) -> None:
        """A file is graded. Called once for each file, in the order given."""

    def close(self, grades: Sequence[Grade]) -> None:
        """All files are graded; `grades` holds all that were added, at least one."""


@dataclass(frozen=True)
class ReportFormat:
    """A format for `zoo grade --format`.

    Attributes:
        name: as typed.
        summary: one line.
        path: "package.module:Class", a `Report` made without arguments but those that it takes.
        single: whether it is for one file only.
        takes: options of `zoo grade` that the class takes as keywords ("visibility", "show_all").
    """

    name: str
    summary: str
    path: str
    single: bool = False
    takes: tuple[str, ...] = ()

    def load(self, **options: str | bool) -> Report:
        """Return a new report. Raises PluginError if `path` leads nowhere."""
        module, _, attribute = self.path.partition(":")
        try:
            report: Report = getattr(importlib.import_module(module), attribute)(**options)
        except (ImportError, AttributeError) as error:
            raise PluginError(
                f"Report format '{self.name}' cannot be loaded from {self.path}: {error}"
            ) from error
        return report


@cache
def get_formats() -> Mapping[str, ReportFormat]:
    """All report formats of all plugins, by name. A plugin that repeats a name is skipped."""
    formats: dict[str, ReportFormat] = {}

    def add(_plugin: str, offered: Iterable[ReportFormat]) -> None:
        for one in offered:
            if one.name in formats:
                raise PluginError(f"report format '{one.name}' is registered twice")
            formats[one.name] = one

    get_plugins().each("zoo_reports", add)
    return formats


def get_format(name: str) -> ReportFormat:
    """The format called `name`. Raises UnknownNameError with the nearest names."""
    if name not in get_formats():
        raise unknown_name("report format", name, get_formats())
    return get_formats()[name]
