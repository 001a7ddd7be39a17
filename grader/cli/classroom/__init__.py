"""`zoo class`: grade a whole class. One file per command; `regrade` is in `grade.py`."""

from __future__ import annotations

import click

from grader.cli.classroom.export import export
from grader.cli.classroom.grade import grade, regrade
from grader.cli.classroom.late import late
from grader.cli.classroom.misconceptions import misconceptions
from grader.cli.classroom.override import override
from grader.cli.classroom.plan import plan
from grader.cli.classroom.report import report
from grader.cli.classroom.show import show
from grader.cli.classroom.similar import similar
from grader.cli.classroom.status import status


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
