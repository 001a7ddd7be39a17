"""Write the report of `zoo grade` to standard output, or to a file and the readable page to standard output."""

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
    """The report could not be written; the grade itself was printed."""


@dataclass(frozen=True)
class Reports:
    """The requested report, and the readable page that is printed when the report goes to a file."""

    format: ReportFormat
    shown: Report
    written: Report | None
    output: Path | None

    @classmethod
    def of(cls, name: str, output: Path | None, visibility: str | None, show_all: bool) -> Reports:
        """Build from the command line. Raises ZooError for an unknown format, or an option it does not take."""
        from grader.reports import get_format

        chosen = get_format(name)
        if visibility is not None and "visibility" not in chosen.takes:
            raise ZooError(f"--visibility has no effect with --format {name}; it is for gradescope.")
        if show_all and output is None and "show_all" not in chosen.takes:
            raise ZooError(f"--all has no effect with --format {name}; it is for terminal.")
        given: dict[str, str | bool] = {"visibility": visibility or "", "show_all": show_all}
        report = chosen.load(**{key: value for key, value in given.items() if value and key in chosen.takes})
        if output is None:
            return cls(chosen, report, None, None)
        if not output.absolute().parent.is_dir():
            raise ZooError(f"Cannot write '{output.name}': there is no directory '{output.parent}'.")
        return cls(chosen, get_format("terminal").load(show_all=show_all), report, output)

    def check(self, files: int) -> None:
        """Raise ZooError if the format takes a single file and several were given."""
        if self.format.single and files > 1:
            raise ZooError(
                f"--format {self.format.name} takes a single file, got {files}. Grade them one at a time."
            )

    def add(self, grade: Grade) -> None:
        """Add the grade of one file."""
        self.shown.add(grade)

    def close(self, grades: Sequence[Grade]) -> None:
        """Finish the report. Raises UnwrittenError if the file cannot be written; an existing one is unchanged."""
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
