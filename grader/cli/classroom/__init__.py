"""`zoo class`: grade a whole class. The commands are in one file per kind."""

from __future__ import annotations

import click

from grader.cli.classroom.decisions import late, override
from grader.cli.classroom.exporting import export
from grader.cli.classroom.grading import grade, regrade
from grader.cli.classroom.mistakes import misconceptions
from grader.cli.classroom.planning import plan
from grader.cli.classroom.reporting import report
from grader.cli.classroom.results import show, status
from grader.cli.classroom.similarity import similar


@click.group("class")
def classroom() -> None:
    """Grade a class, store its grades, and find common mistakes.

    \b
    Examples:
      zoo class grade downloads/ --roster roster.csv
      zoo class status
      zoo class misconceptions
      zoo class report -o report
      zoo class export canvas --template canvas.csv -o upload.csv
    """


for command in (grade, regrade, plan, status, show, override, late, misconceptions, similar, report, export):
    classroom.add_command(command)
