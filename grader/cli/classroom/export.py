"""`zoo class export`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import click

from grader.cli.classroom.shared import anonymous_option, exercise_option, gradebook_option, json_option
from grader.cli.options import OneOf
from zoo.cli.text import counted, print_json, wrapped


def _formats() -> Iterable[str]:
    from grader.classroom.exports import FORMATS

    return FORMATS


@click.command()
@click.argument("form", type=OneOf("format", _formats), metavar="FORMAT")
@exercise_option
@click.option(
    "--template",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Export of the platform to fill in.",
)
@click.option(
    "--column", default="", help="Column of the template to fill in (default: the exercise's name)."
)
@anonymous_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write; for gradescope and feedback, a folder.",
)
@gradebook_option
@json_option
def export(
    form: str,
    exercise: str | None,
    template: Path | None,
    column: str,
    anonymous: bool,
    output: Path | None,
    path: Path,
    as_json: bool,
) -> None:
    """Export the grades in the FORMAT of a platform.

    \b
    grades       one row per final grade
    canvas       gradebook import of Canvas (with --template, fills it in)
    moodle       grading worksheet of Moodle (with --template, fills it in)
    gradescope   one results.json per student
    nbgrader     the columns of `nbgrader export`
    submissions, tests, mistakes
                 one row per submission, test, or mistake
    json         everything
    feedback     one page per student, with the source and what is wrong

    \b
    Examples:
      zoo class export grades -o grades.csv
      zoo class export canvas --template canvas.csv --exercise attention -o up.csv
      zoo class export mistakes --anonymous -o mistakes.csv
      zoo class export feedback -o feedback
    """
    from grader.classroom.export_cells import Choice
    from grader.classroom.exports import FORMATS
    from grader.classroom.gradebook import Gradebook

    if template is not None and form not in ("canvas", "moodle"):
        raise click.UsageError(f"--template is for canvas and moodle, not for {form}.")
    if column and (template is None or exercise is None):
        raise click.UsageError("--column needs --template and --exercise.")
    with Gradebook(path) as book:
        made = FORMATS[form](book, Choice(exercise or "", template, column, anonymous))
    if as_json and output is None:
        raise click.UsageError("--json lists what is written: pass --output, or export the format json.")
    if output is None:
        if not isinstance(made, str):
            raise click.UsageError(f"{form} writes several files: pass a folder with --output.")
        click.echo(made, nl=False)
        return
    written = _write(made, output)
    if as_json:
        print_json({"format": form, "written": [str(file) for file in written]})
    elif isinstance(made, str):
        click.echo(wrapped(f"Wrote '{output}'."))
    else:
        click.echo(wrapped(f"Wrote {counted(len(made), 'file')} to '{output}'."))


def _write(made: str | Mapping[str, str], output: Path) -> list[Path]:
    """Write a file, or the files of a folder; their paths. Raises ZooError if they cannot be written."""
    from zoo.core.files import reporting_os_errors, write_whole

    files = {output: made} if isinstance(made, str) else {output / name: text for name, text in made.items()}
    with reporting_os_errors(f"'{output}' was not written"):
        if not isinstance(made, str):
            output.mkdir(parents=True, exist_ok=True)
        for file, text in files.items():
            write_whole(file, text.encode("utf-8"))
    return [*files]
