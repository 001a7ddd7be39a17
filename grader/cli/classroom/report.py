"""`zoo class report`."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.classroom.shared import anonymous_option, exercise_option, gradebook_option, json_option
from zoo.cli.text import counted, print_json, wrapped

STUDENTS = "students"


@click.command(short_help="Write a page with grades, mistakes and late files.")
@exercise_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="Page to write (*.html), or a folder for it and one page per student.",
)
@click.option("--no-similar", is_flag=True, help="Do not look for similar files.")
@anonymous_option
@gradebook_option
@json_option
def report(
    exercise: str | None, output: Path, no_similar: bool, anonymous: bool, path: Path, as_json: bool
) -> None:
    """Write a page with grades, misconceptions, tests, late and similar files.

    With a folder for --output, each student gets a page, too. Pages are single files that work without a network.

    \b
    Examples:
      zoo class report
      zoo class report --exercise attention -o attention.html
      zoo class report --anonymous -o report
    """
    from grader.classroom.feedback import feedback_pages
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.names import Names
    from grader.classroom.pages import report_page
    from grader.classroom.similar import NotInstalledError, compare
    from zoo.core.files import reporting_os_errors
    from zoo.pages.rendering import write

    whole = output.suffix.casefold() in (".html", ".htm")
    with Gradebook(path) as book:
        names = Names(book, anonymous=anonymous)
        students = {} if whole else feedback_pages(book, names, exercise or "")
        try:
            alike = None if no_similar else compare(book, names, exercise=exercise or "")
        except NotInstalledError:
            alike = None
        links = {number: f"{STUDENTS}/{name}" for number, (name, _page) in students.items()}
        page = report_page(book, names, exercise=exercise or "", alike=alike, links=links)
    first = output if whole else output / "index.html"
    if not whole:
        with reporting_os_errors(f"'{output}' cannot be written"):
            (output / STUDENTS).mkdir(parents=True, exist_ok=True)
        for name, text in students.values():
            write(output / STUDENTS / name, text)
    write(first, page)
    if as_json:
        print_json({"report": str(first), "students": len(students)})
    else:
        more = f" and {counted(len(students), 'page')} of students" if students else ""
        click.echo(wrapped(f"Wrote '{first}'{more}."))
