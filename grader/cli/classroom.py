"""`zoo class`: grade a whole class."""

from __future__ import annotations

import getpass
import json
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.options import OneOf, SomeOf, exercise_names
from grader.core.results import GraderBrokenError, clean
from zoo.cli.text import bold, columns, counted, print_json, wrapped
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from grader.classroom.gradebook import Gradebook, Row
    from grader.classroom.grading import Settings, Tally

GRADER_BROKEN = 3
INTERRUPTED = 130
SHOWN = 10  # lines of a list that can be long


def _categories() -> Iterable[str]:
    from grader.catalog import CATEGORIES

    return CATEGORIES


def _rules() -> Iterable[str]:
    from grader.classroom.late import get_rules

    return get_rules()


def _formats() -> Iterable[str]:
    from grader.classroom.exports import FORMATS

    return FORMATS


_gradebook = click.option(
    "--gradebook",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    default="gradebook.sqlite",
    show_default=True,
    envvar="ZOO_GRADEBOOK",
    help="The class's gradebook.",
)
_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_exercise = click.option(
    "--exercise", type=OneOf("exercise", exercise_names), metavar="NAME", help="Only this exercise."
)


def _grading_options(command: Any) -> Any:
    for option in reversed(
        (
            click.option(
                "--jobs",
                type=click.IntRange(min=1),
                help="Number of files to grade in parallel (default: the number of CPU cores).",
            ),
            click.option(
                "--skip",
                type=SomeOf("category", _categories),
                metavar="CATEGORIES",
                help="Skip these test categories (comma-separated), such as training.",
            ),
            click.option(
                "--seed",
                type=click.IntRange(0, 2**31 - 1),
                help="Random seed of the tests (default: the same for the whole class).",
            ),
            click.option(
                "--device",
                type=click.Choice(["cpu", "cuda", "auto"]),
                default="cpu",
                show_default=True,
                help="Device that submissions run on.",
            ),
            click.option(
                "--sandbox",
                type=click.Choice(["auto", "strict", "process"]),
                default="auto",
                show_default=True,
                help="Sandbox level; auto picks the strictest one available.",
            ),
            click.option(
                "--no-library-attention",
                "strict",
                is_flag=True,
                help="Reject files that call a built-in attention, such as nn.MultiheadAttention.",
            ),
            click.option("--strict", "old_strict", is_flag=True, hidden=True),  # its former name
            click.option(
                "--time-limit",
                type=click.FloatRange(min=1),
                default=600.0,
                show_default=True,
                metavar="SECONDS",
                help="Wall time of one grade.",
            ),
            click.option(
                "--tries",
                type=click.IntRange(min=1),
                default=2,
                show_default=True,
                help="Attempts for a file whose grading process dies or hangs.",
            ),
            _gradebook,
            _as_json,
        )
    ):
        command = option(command)
    return command


@click.group()
def classroom() -> None:
    """Grade a class, store its grades, and find common mistakes.

    \b
    Examples:
      zoo class grade downloads/ --roster roster.csv
      zoo class status
      zoo class misconceptions
      zoo class export canvas --template canvas.csv -o upload.csv
    """


classroom.name = "class"


@classroom.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--roster", type=click.Path(path_type=Path, dir_okay=False), help="CSV file of the students.")
@click.option(
    "--exercise",
    type=OneOf("exercise", exercise_names),
    metavar="NAME",
    help="Exercise of every Python file in FOLDER (default: inferred from file and folder names).",
)
@click.option("--dry-run", is_flag=True, help="Print what would be graded; write nothing.")
@_grading_options
@click.pass_context
def grade(
    ctx: click.Context,
    /,
    folder: Path,
    roster: Path | None,
    exercise: str | None,
    dry_run: bool,
    path: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Grade new submissions in FOLDER.

    Recognizes one folder per student, downloads from Moodle and Canvas, exports from Gradescope, clones of GitHub
    Classroom, nbgrader folders, and files named STUDENT_EXERCISE.py. Run the same command again after an
    interruption, or when more files have arrived: nothing is graded twice.

    Exit codes: 0 all files graded, 1 a file needs a decision (the grader failed on it, or ran out of time), 2 usage
    error, 3 the grader cannot run, 130 interrupted.

    \b
    Examples:
      zoo class grade downloads/ --roster roster.csv --jobs 8
      zoo class grade downloads/ --skip training
      zoo class grade week3/ --exercise attention
    """
    from grader.catalog import get_exercises
    from grader.classroom.discovery import describe, discover
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.grading import record
    from grader.classroom.roster import read_roster

    settings = _settings(options)
    people = read_roster(roster) if roster is not None else None
    found = discover(folder, get_exercises(), exercise or "")
    if not as_json:
        click.echo(wrapped(describe(found)))
        for note in (people.notes if people else ())[:SHOWN]:
            click.echo(wrapped(note))
        _show_unplaced(found.unplaced)
    if dry_run:
        if as_json:
            print_json(
                {
                    "submissions": [
                        {
                            "student": one.owner.name,
                            "exercise": one.exercise,
                            "path": one.path,
                            "layout": one.layout,
                        }
                        for one in found.submissions
                    ],
                    "unplaced": [dict(zip(("path", "reason"), one, strict=True)) for one in found.unplaced],
                }
            )
        return
    if not found.submissions:
        raise ZooError(f"'{folder}' has no submission that can be graded.")
    with Gradebook(path, write=True) as book:
        book.back_up()
        tally = record(book, found, people)
        for note in tally.notes[:SHOWN] if not as_json else ():
            click.echo(wrapped(note))
        _run(ctx, book, settings, options["seed"], None, False, as_json, tally)


def _show_unplaced(unplaced: Sequence[tuple[str, str]]) -> None:
    if unplaced:
        click.echo(wrapped(f"{counted(len(unplaced), 'file')} skipped (student or exercise unclear):"))
        click.echo(columns([(clean(path, 200), reason) for path, reason in unplaced[:SHOWN]]))
        if len(unplaced) > SHOWN:
            click.echo(f"  and {len(unplaced) - SHOWN} more; `zoo class status --json` lists all.")


def _settings(options: dict[str, Any]) -> Settings:
    from grader.catalog import CATEGORIES
    from grader.classroom.grading import Settings
    from grader.classroom.pool import Limits

    skipped = set(options["skip"].split(",")) if options["skip"] else set()
    left = tuple(one for one in CATEGORIES if one not in skipped)
    if not left:
        raise ZooError("--skip leaves no test to run.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Settings(
        options["device"],
        options["sandbox"],
        left,
        options["strict"] or options["old_strict"],
        options["jobs"] or cores,
        Limits(grade_s=options["time_limit"], tries=options["tries"]),
    )


def _run(
    ctx: click.Context,
    book: Gradebook,
    settings: Settings,
    seed: int | None,
    again: Iterable[tuple[str, str]] | None,
    force: bool,
    as_json: bool,
    tally: Tally | None,
) -> None:
    """Grade with a progress bar, print the outcome, and exit."""
    from tqdm import tqdm

    from grader.classroom.grading import grade as grade_class

    bar = tqdm(disable=None, leave=False, unit="file")

    def progress(_outcome: object, done: int, total: int) -> None:
        bar.total = total
        bar.update(done - bar.n)

    try:
        with bar:
            tally = grade_class(
                book, settings, seed=seed, again=again, force=force, tally=tally, progress=progress
            )
    except KeyboardInterrupt:
        click.echo(
            "\nInterrupted. Finished grades are in the gradebook; run the same command to continue.", err=True
        )
        ctx.exit(INTERRUPTED)
    except GraderBrokenError as error:
        click.echo(wrapped(f"Internal error of the grader, not of the files: {error}"), err=True)
        ctx.exit(GRADER_BROKEN)
    if as_json:
        print_json(
            {
                "new": tally.new,
                "known": tally.known,
                "graded_before": tally.before,
                "by_another_version": tally.other_version,
                "states": tally.states,
                "needs_a_person": tally.needs_a_person,
                "notes": tally.notes,
            }
        )
    else:
        _print_tally(tally)
    ctx.exit(1 if tally.needs_a_person else 0)


_STATES = {
    "graded": "graded",
    "unloadable": "could not be loaded",
    "refused": "rejected: against the rules",
    "stopped": "stopped at a limit",
    "broken": "not graded: internal error of the grader",
    "waiting": "not graded yet",
    "missing": "nothing submitted",
    "override": "set by hand",
}


def _print_tally(tally: Tally) -> None:
    new = sum(tally.states.values())
    click.echo(wrapped(f"{counted(new, 'file')} graded now, {tally.before:,} before."))
    for state, count in sorted(tally.states.items()):
        if state != "graded":
            click.echo(wrapped(f"{counted(count, 'file')} {_STATES[state]}."))
    if tally.other_version:
        click.echo(
            wrapped(
                f"{counted(tally.other_version, 'file')} graded before by another version of the grader, or with other "
                "settings; run `zoo class regrade` to update them."
            )
        )
    if tally.needs_a_person:
        click.echo(wrapped("`zoo class status` lists what needs a decision."))


@classroom.command(short_help="Regrade after a change of tests, torch or sandbox.")
@click.option("--only-failed", "failed", is_flag=True, help="Only files that did not pass.")
@click.option(
    "--exercise", type=OneOf("exercise", exercise_names), metavar="NAME", help="Only this exercise."
)
@click.option("--student", metavar="STUDENT", help="Only this student.")
@click.option("--since", metavar="WHEN", help="Only files graded at or after this time ('2026-03-01 12:00').")
@click.option("--force", is_flag=True, help="Include files that the current version has already graded.")
@_grading_options
@click.pass_context
def regrade(
    ctx: click.Context,
    /,
    failed: bool,
    exercise: str | None,
    student: str | None,
    since: str | None,
    force: bool,
    path: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Grade the files in the gradebook again, after a change of tests, torch or sandbox.

    The gradebook contains the files, so the submissions folder is not needed. Earlier grades are kept.

    \b
    Examples:
      zoo class regrade
      zoo class regrade --exercise attention --only-failed
      zoo class regrade --student anna@uni.example --force
    """
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.grading import to_regrade
    from grader.classroom.late import read_deadline

    settings = _settings(options)
    when = read_deadline(since) if since else None
    with Gradebook(path, write=True) as book:
        book.back_up()
        of = int(book.find_student(student)["id"]) if student else None
        again = to_regrade(book, exercise=exercise or "", student=of, failed=failed, since=when)
        _run(ctx, book, settings, options["seed"], again, force, as_json, None)


@classroom.command()
@_gradebook
@_as_json
def status(path: Path, as_json: bool) -> None:
    """Show results, and what needs a decision.

    \b
    Example:
      zoo class status
    """
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.overview import summarize

    with Gradebook(path) as book:
        found = summarize(book)
    if as_json:
        print_json(found)
        return
    click.echo(
        wrapped(
            f"{counted(found['students'], 'student')} ({found['in_roster']} in the roster), "
            f"{counted(found['submissions'], 'submission')}, {counted(found['gradings'], 'grade')}, "
            f"{found['cpu_hours'] * 60:.1f} CPU minutes."
        )
    )
    if found["exercises"]:
        rows = [("exercise", "students", "passed", "median", "of", "late", "states")]
        for one in found["exercises"]:
            states = ", ".join(
                f"{count} {_STATES.get(state, state)}"
                for state, count in one["states"].items()
                if state != "graded"
            )
            rows.append(
                (
                    one["exercise"],
                    str(one["students"]),
                    str(one["passed"]),
                    _number(one["median"]),
                    _number(one["max_points"]),
                    str(one["late"]),
                    states or "all graded",
                )
            )
        click.echo(columns(rows))
    if found["needs_a_person"]:
        click.echo(bold("\nNeeds a decision"))
        listed = found["needs_a_person"]
        click.echo(columns([(one["student"], one["exercise"], one["reason"]) for one in listed[:SHOWN]]))
        if len(listed) > SHOWN:
            click.echo(f"  and {len(listed) - SHOWN} more; --json lists all.")
    _show_unplaced([(one["path"], one["reason"]) for one in found["unplaced"]])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:g}"


@classroom.command()
@click.argument("student")
@_gradebook
@_as_json
def show(student: str, path: Path, as_json: bool) -> None:
    """Show attempts and points of one STUDENT.

    STUDENT is a key, an email, an id, or part of a name.

    \b
    Example:
      zoo class show anna
    """
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.overview import describe_student

    with Gradebook(path) as book:
        found = describe_student(book, book.find_student(student))
    if as_json:
        print_json(found)
        return
    click.echo(bold(clean(f"{found['name'] or found['key']}  {found['email']}").rstrip()))
    for one in found["exercises"]:
        total = f"{_number(one['points'])} of {_number(one['max_points'])} points"
        note = f" ({one['note']})" if one["note"] else ""
        click.echo(f"\n{bold(one['exercise'])}: {total}, {_STATES.get(one['state'], one['state'])}")
        if note:
            click.echo(wrapped(clean(note.strip()), "  "))
        for attempt in one["attempts"]:
            counts = " (counts)" if attempt["counts"] else ""
            click.echo(
                f"  attempt {attempt['attempt']}: {_number(attempt['points'])} points, "
                f"{_STATES.get(attempt['state'], attempt['state'])}, {clean(attempt['path'], 200)}{counts}"
            )
            for mistake in attempt["mistakes"]:
                place = f"line {mistake['line']}: " if mistake["line"] else ""
                click.echo(wrapped(f"{mistake['id']}: {place}{mistake['text']}", "    "))


@classroom.command(short_help="Set points by hand.")
@click.argument("student")
@click.argument("exercise", type=OneOf("exercise", exercise_names))
@click.argument("points", type=click.FloatRange(min=0), required=False)
@click.option("--reason", required=True, help="Reason for the change; it is recorded.")
@click.option("--who", help="Name to record (default: your user name).")
@click.option("--remove", is_flag=True, help="Remove an earlier override.")
@_gradebook
def override(
    student: str, exercise: str, points: float | None, reason: str, who: str | None, remove: bool, path: Path
) -> None:
    """Set the POINTS of a STUDENT for an EXERCISE by hand.

    Each change is recorded with its reason.

    \b
    Examples:
      zoo class override anna attention 18 --reason "the mask was right; see mail of 3 March"
      zoo class override anna attention --remove --reason "regraded"
    """
    from grader.classroom import finals
    from grader.classroom.gradebook import Gradebook

    if remove == (points is not None):
        raise click.UsageError("Give either POINTS or --remove.")
    if not reason.strip():
        raise click.UsageError("--reason must not be empty.")
    with Gradebook(path, write=True) as book:
        row = book.find_student(student)
        with book.transaction():
            book.execute(
                "INSERT INTO overrides (student, exercise, points, reason, who, at) VALUES (?, ?, ?, ?, ?, ?)",
                (row["id"], exercise, points, reason.strip(), who or _user(), time.time()),
            )
        finals.compute(book)
    done = "removed" if remove else f"{points:g} points"
    click.echo(wrapped(f"{row['name'] or row['key']}, {exercise}: {done}."))


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "unknown"


@classroom.command()
@_exercise
@click.option(
    "--due", metavar="WHEN", help="Deadline, such as '2026-03-01 23:59' (local time) or with a zone."
)
@click.option(
    "--rule", type=OneOf("late rule", _rules), metavar="NAME", help="none, percent, grace, or a plugin's."
)
@click.option(
    "--per-day",
    type=click.FloatRange(0, 100),
    help="Percent deducted per day or part of a day (default: 10).",
)
@click.option("--days", type=click.IntRange(min=0), help="Grace days per student, for the rule grace.")
@click.option("--max-days", type=click.IntRange(min=0), help="No points after this many days.")
@click.option(
    "--attempts",
    type=click.Choice(["last", "best"]),
    help="Attempt that counts, for all exercises (default: last).",
)
@_gradebook
@_as_json
def late(
    exercise: str | None,
    due: str | None,
    rule: str | None,
    attempts: str | None,
    path: Path,
    as_json: bool,
    **options: float | None,
) -> None:
    """Set or list deadlines and late penalties.

    Without --exercise, the rule applies to all exercises without a rule of their own. Submission times come from
    Gradescope, Git commits and nbgrader; Canvas marks late files in their names. The modification time of a file is
    ignored, since it is often that of the download. With --attempts=last, the last attempt before the deadline
    counts.

    \b
    Examples:
      zoo class late --exercise attention --due "2026-03-01 23:59" --rule percent --per-day 20
      zoo class late --rule grace --days 3
      zoo class late --attempts best
    """
    from grader.classroom import finals
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.late import get_rule, read_deadline

    changed = {name: value for name, value in options.items() if value is not None}
    changes = bool(due or rule or changed)
    if changes or attempts:
        when = read_deadline(due) if due else None
        with Gradebook(path, write=True) as book:
            with book.transaction():
                if changes:
                    _set_rule(book, exercise or "", when, rule, changed)
                if attempts:
                    book.set("attempts", attempts)
            finals.compute(book)
    with Gradebook(path) as book:
        rows = book.all("SELECT * FROM late_rules ORDER BY exercise")
        policy = book.setting("attempts", "last")
    if as_json:
        print_json({"attempts": policy, "rules": [_rule(row) for row in rows]})
        return
    click.echo(f"Attempt that counts: {policy}{' before the deadline' * (policy == 'last')}.")
    for row in map(_rule, rows):
        listed = ", ".join(f"{name} {value:g}" for name, value in row["options"].items())
        click.echo(
            wrapped(
                f"{row['exercise'] or 'every other exercise'}: due {row['due'] or 'never'}, {row['rule']}"
                f"{f' ({listed})' if listed else ''}: {get_rule(row['rule']).summary}."
            )
        )


def _set_rule(
    book: Gradebook, exercise: str, due: float | None, rule: str | None, options: dict[str, Any]
) -> None:
    """Update the rule of an exercise; values that are not given stay."""
    row = book.one("SELECT * FROM late_rules WHERE exercise = ?", (exercise,))
    before = {} if row is None or rule not in (None, row["rule"]) else json.loads(row["options"])
    book.execute(
        "INSERT OR REPLACE INTO late_rules VALUES (?, ?, ?, ?)",
        (
            exercise,
            due if due is not None or row is None else row["due"],
            rule or ("none" if row is None else row["rule"]),
            json.dumps({**before, **options}, sort_keys=True),
        ),
    )


def _rule(row: Row) -> dict[str, Any]:
    due = None if row["due"] is None else time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(row["due"]))
    return {
        "exercise": row["exercise"],
        "due": due,
        "rule": row["rule"],
        "options": json.loads(row["options"]),
    }


@classroom.command()
@_exercise
@click.option(
    "--what",
    type=click.Choice(["misconceptions", "exercises", "tests", "moves", "pairs", "attempts"]),
    help="Print only this table.",
)
@click.option(
    "--csv", "as_csv", is_flag=True, help="Print the table of --what as CSV (default: misconceptions)."
)
@_gradebook
@_as_json
def misconceptions(exercise: str | None, what: str | None, as_csv: bool, path: Path, as_json: bool) -> None:
    """Show common mistakes and hard exercises.

    \b
    Examples:
      zoo class misconceptions
      zoo class misconceptions --exercise attention --what moves
      zoo class misconceptions --csv > mistakes.csv
    """
    from grader.classroom.exports import safe, write_table
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.misconceptions import find

    with Gradebook(path) as book:
        found = find(book, exercise or "")
    data = found.as_object()
    if as_json:
        print_json(data if what is None else data[what])
        return
    if as_csv:
        rows = data[what or "misconceptions"]
        header = list(rows[0]) if rows else []
        cells = (
            [safe("; ".join(one) if isinstance(one, list) else one) for one in row.values()] for row in rows
        )
        click.echo(write_table([header, *cells]), nl=False)
        return
    for sentence in found.summary if what is None else ():
        click.echo(wrapped(sentence))
    for name, title, fields, flexible in _TABLES:
        rows = data[name]
        if what not in (None, name) or not rows:
            continue
        shown = rows if what == name else _worth_showing(name, rows)[:SHOWN]
        if not shown:
            continue
        click.echo(f"\n{bold(title)}")
        click.echo(
            columns(
                [
                    [one.replace("_", " ") for one in fields],
                    *([_format_cell(row[one], one) for one in fields] for row in shown),
                ],
                flexible,
            )
        )
        if name == "misconceptions":
            for row in shown[: SHOWN if what else 5]:
                seen = f" See {', '.join(row['lines'][:2])}." if row["lines"] else ""
                click.echo(wrapped(clean(f"{row['mistake']}: {row['text']}{seen}"), "    "))
    if not data["exercises"]:
        click.echo("No grades yet.")


_TABLES = (
    ("misconceptions", "Mistakes", ("exercise", "mistake", "students", "share", "now", "fixed", "points"), 1),
    ("exercises", "Exercises", ("exercise", "students", "passed", "unwritten", "unloadable", "unnamed", "mean"), 0),
    ("tests", "Uninformative tests", ("exercise", "title", "passed", "failed", "skipped", "verdict"), 1),
    ("moves", "From one attempt to the next", ("exercise", "before", "after", "students"), 1),
    ("pairs", "Mistakes made together", ("first", "second", "students", "expected"), 1),
    ("attempts", "Attempts", ("exercise", "attempt", "students", "passed", "mean"), 0),
)  # fmt: skip


def _worth_showing(name: str, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of interest: conspicuous tests, and attempts only if somebody has several."""
    if name == "tests":
        return [row for row in rows if row["verdict"] in ("never passes", "passes weaker files")]
    if name == "attempts" and max(row["attempt"] for row in rows) == 1:
        return []
    return list(rows)


def _format_cell(value: object, column: str) -> str:
    if isinstance(value, float) and column in ("share", "mean"):
        return f"{value:.0%}"
    if column == "before" and not value:
        return "failure without a name"
    return f"{value:g}" if isinstance(value, float) else str(value)


@classroom.command()
@click.argument("form", type=OneOf("format", _formats), metavar="FORMAT")
@_exercise
@click.option(
    "--template",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Export of the platform to fill in.",
)
@click.option(
    "--column", default="", help="Column of the template to fill in (default: the exercise's name)."
)
@click.option("--anonymous", is_flag=True, help="Replace names, emails and ids.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="File to write; for gradescope, a folder."
)
@_gradebook
def export(
    form: str,
    exercise: str | None,
    template: Path | None,
    column: str,
    anonymous: bool,
    output: Path | None,
    path: Path,
) -> None:
    """Export the grades in the FORMAT of a platform.

    \b
    grades       one row per final grade
    canvas       gradebook import of Canvas (with --template, fills it in)
    moodle       offline grading worksheet of Moodle (the same)
    gradescope   one results.json per student
    nbgrader     the columns of `nbgrader export`
    submissions, tests, mistakes
                 one row per submission, test, or mistake
    json         everything

    \b
    Examples:
      zoo class export grades -o grades.csv
      zoo class export canvas --template Grades-CS101.csv --exercise attention --column "Homework 1" -o upload.csv
      zoo class export mistakes --anonymous -o mistakes.csv
    """
    from grader.classroom.exports import FORMATS, Choice
    from grader.classroom.gradebook import Gradebook
    from zoo.core.files import reporting_os_errors, write_whole

    if template is not None and form not in ("canvas", "moodle"):
        raise click.UsageError(f"--template is for canvas and moodle, not for {form}.")
    if column and (template is None or exercise is None):
        raise click.UsageError("--column needs --template and --exercise.")
    with Gradebook(path) as book:
        made = FORMATS[form](book, Choice(exercise or "", template, column, anonymous))
    if isinstance(made, str):
        if output is None:
            click.echo(made, nl=False)
            return
        with reporting_os_errors(f"'{output}' was not written"):
            write_whole(output, made.encode("utf-8"))
        click.echo(wrapped(f"Wrote '{output}'."))
        return
    if output is None:
        raise click.UsageError(f"{form} writes several files: pass a folder with --output.")
    with reporting_os_errors(f"'{output}' was not written"):
        output.mkdir(parents=True, exist_ok=True)
        for name, text in made.items():
            write_whole(output / name, text.encode("utf-8"))
    click.echo(wrapped(f"Wrote {counted(len(made), 'file')} to '{output}'."))
