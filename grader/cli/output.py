"""Where a report of `zoo grade` goes: to standard output, or to a file with the page for people beside it."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from grader.core.results import Grade
    from grader.reports import Report, ReportFormat


class UnwrittenError(Exception):
    """The report could not be written; the grade itself is on standard output."""


@dataclass(frozen=True)
class Reports:
    """The report that was asked for, and the page for people where the report goes to a file."""

    format: ReportFormat
    shown: Report
    written: Report | None
    output: Path | None

    @classmethod
    def of(cls, name: str, output: Path | None, visibility: str | None) -> Reports:
        """From the command line. Raises ZooError for an unknown format, or an option that it does not take."""
        from grader.reports import get_format

        chosen = get_format(name)
        if visibility is not None and "visibility" not in chosen.takes:
            raise ZooError(f"--visibility means nothing to --format {name}; it is for gradescope.")
        report = chosen.load(**({} if visibility is None else {"visibility": visibility}))
        if output is None:
            return cls(chosen, report, None, None)
        if not output.absolute().parent.is_dir():
            raise ZooError(f"There is no folder '{output.parent}' to write '{output.name}' to.")
        return cls(chosen, get_format("terminal").load(), report, output)

    def check(self, files: int) -> None:
        """Raise ZooError if the format is for one file, and there are more."""
        if self.format.single and files > 1:
            raise ZooError(
                f"--format {self.format.name} is for one file, and {files} were given. Grade them one by one."
            )

    def add(self, grade: Grade) -> None:
        """A file is graded."""
        self.shown.add(grade)

    def close(self, grades: Sequence[Grade]) -> None:
        """All files are graded. Raises UnwrittenError if the file cannot be written; the old one is left as it was."""
        self.shown.close(grades)
        if self.written is None or self.output is None:
            return
        from grader.learner.files import replace

        with contextlib.redirect_stdout(io.StringIO()) as text:
            for grade in grades:
                self.written.add(grade)
            self.written.close(grades)
        try:
            replace(self.output, text.getvalue().encode("utf-8"))
        except ZooError as error:
            raise UnwrittenError(f"The report was not written. {error}") from error
