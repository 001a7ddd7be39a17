"""`zoo class`: grade a whole class. The commands are in one file per kind."""

from __future__ import annotations

import click

from grader.cli.classroom.decisions import late, override
from grader.cli.classroom.exporting import export
from grader.cli.classroom.grading import grade, regrade
from grader.cli.classroom.results import misconceptions, show, status


@click.group("class")
def classroom() -> None:
    """Grade a class, store its grades, and find common mistakes.

    \b
    Examples:
      zoo class grade downloads/ --roster roster.csv
      zoo class status
      zoo class misconceptions
      zoo class export canvas --template canvas.csv -o upload.csv
    """


for command in (grade, regrade, status, show, override, late, misconceptions, export):
    classroom.add_command(command)
