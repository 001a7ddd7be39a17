"""`zoo class grade` and `zoo class regrade`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli.classroom.shared import duration, grading_options, show_unplaced
from grader.cli.options import OneOf, exercise_names
from grader.core.results import GraderBrokenError
from zoo.cli.text import columns, counted, print_json, wrapped
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from grader.classroom.discovery import Discovery
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.grading import Settings, Tally


NOTES = 4  # lines about students
GRADER_BROKEN = 3
INTERRUPTED = 130


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--roster", type=click.Path(path_type=Path, dir_okay=False), help="CSV file of the students.")
@click.option(
    "--exercise",
    type=OneOf("exercise", exercise_names),
    metavar="NAME",
    help="Exercise of every Python file in FOLDER (default: inferred from file and folder names).",
)
@click.option(
    "--dry-run", is_flag=True, help="Print what would be graded, and how long it would take; write nothing."
)
@grading_options
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
    notes = [*(people.notes if people else ()), *found.notes]
    if not as_json:
        click.echo(wrapped(describe(found)))
        _print_notes(notes)
        show_unplaced(found.unplaced)
    if dry_run:
        _preview(found, settings, options, path, as_json)
        return
    if not found.submissions:
        raise ZooError(f"'{folder}' has no submission that can be graded.")
    with Gradebook(path, write=True) as book:
        book.back_up()
        tally = record(book, found, people)
        if as_json:
            tally.notes[:0] = notes
        else:
            _print_notes(tally.notes)
        settings = _as_before(book, settings, options, as_json)
        _run(ctx, book, settings, Run(options["seed"]), as_json, tally)


def _preview(
    found: Discovery, settings: Settings, options: dict[str, Any], path: Path, as_json: bool
) -> None:
    """Print what would be graded, and how long that would take."""
    from grader.classroom.engines import cores
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.plan import preview

    slots = settings.terms.jobs or cores()
    with Gradebook(path) if path.exists() else nullcontext() as book:
        if book is not None:
            settings = _as_before(book, settings, options, as_json)
        plan = preview(book, found, settings.selection, slots)
    if as_json:
        submissions = [
            {"student": one.owner.name, "exercise": one.exercise, "path": one.path, "layout": one.layout}
            for one in found.submissions
        ]
        print_json(
            {
                "submissions": submissions,
                "unplaced": [dict(zip(("path", "reason"), one, strict=True)) for one in found.unplaced],
                "to_grade": [asdict(one) for one in plan.expected],
                "graded_before": plan.before,
                "equal": plan.equal,
                "jobs": slots,
                "expected_s": plan.seconds,
            }
        )
        return
    equal = f", {counted(plan.equal, 'submission')} equal to another one" if plan.equal else ""
    click.echo(wrapped(f"Would grade {counted(plan.files, 'file')} ({plan.before:,} graded before{equal})."))
    if plan.expected:
        rows = [("exercise", "files", "CPU s each", "from")]
        for one in plan.expected:
            source = (
                f"{counted(one.grades, 'grade')} in the gradebook"
                if one.grades
                else "typical, not measured here"
            )
            rows.append((one.exercise, f"{one.files:,}", f"{one.cpu_s:.1f}", source))
        click.echo(columns(rows))
        click.echo(
            wrapped(f"Expected to take about {duration(plan.seconds)} on {counted(slots, 'free core')}.")
        )
    click.echo("Nothing was written.")


def _only(_ctx: click.Context, _param: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    """Return what `--only` selects: "failed", "exercise", "student", "since". Raises click.BadParameter."""
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if name not in _ONLY:
            raise click.BadParameter(f"'{one}' is not valid; expected {', '.join(_ONLY.values())}.")
        if bool(value) != (name != "failed") or (name == "failed" and equals):
            raise click.BadParameter(f"'{one}' is not valid; expected {_ONLY[name]}.")
        if name in found:
            raise click.BadParameter(f"'{name}' is given twice; expected once.")
        if name == "exercise":
            OneOf("exercise", exercise_names).convert(value, _param, _ctx)
        found[name] = value
    return found


_ONLY = {
    "failed": "failed",
    "exercise": "exercise=NAME",
    "student": "student=STUDENT",
    "since": "since=WHEN",
}


@click.command(short_help="Regrade after a change of tests, torch or sandbox.")
@click.option(
    "--only",
    multiple=True,
    callback=_only,
    metavar="WHICH",
    help="Select files: failed (not passed), exercise=NAME, student=STUDENT (key, email, id or name), or since=WHEN "
    "(graded at or after '2026-03-01 12:00'). May be repeated; files must match all.",
)
@click.option("--force", is_flag=True, help="Include files that the current version has already graded.")
@grading_options
@click.pass_context
def regrade(
    ctx: click.Context,
    /,
    only: dict[str, str],
    force: bool,
    path: Path,
    as_json: bool,
    **options: Any,
) -> None:
    """Grade the files in the gradebook again, after a change of tests, torch or sandbox.

    The tests and the seed are those of the last run, unless --skip or --seed name others; with --only, these others
    are for this run alone. Only files are graded whose exercise, grader, torch, device, sandbox, seed or selection of
    tests differ from those of their last grade. The gradebook contains the files, so the submissions folder is not
    needed. Earlier grades are kept.

    \b
    Examples:
      zoo class regrade
      zoo class regrade --only exercise=attention --only failed
      zoo class regrade --only student=anna@uni.example --force
    """
    from grader.classroom.gradebook import Gradebook
    from grader.classroom.grading import to_regrade
    from grader.classroom.late import read_time

    settings = _settings(options)
    since = read_time(only["since"]) if "since" in only else None
    with Gradebook(path, write=True) as book:
        book.back_up()
        student = int(book.find_student(only["student"])["id"]) if "student" in only else None
        again = to_regrade(
            book, exercise=only.get("exercise", ""), student=student, failed="failed" in only, since=since
        )
        if only and not again:
            wanted = ", ".join(f"{name}={value}".rstrip("=") for name, value in only.items())
            raise ZooError(f"No file in '{path}' matches --only {wanted}.")
        settings = _as_before(book, settings, options, as_json)
        _run(ctx, book, settings, Run(options["seed"], again, force, remember=not only), as_json, None)


def _settings(options: dict[str, Any]) -> Settings:
    from grader.catalog import CATEGORIES
    from grader.classroom.engines import Terms, get_engine
    from grader.classroom.grading import Settings
    from grader.classroom.pool import Limits

    skipped = set((options["skip"] or "none").split(","))
    left = tuple(one for one in CATEGORIES if one not in skipped)
    if not left:
        raise ZooError("--skip leaves no test to run.")
    terms = Terms(
        options["jobs"],
        options["sandbox"],
        options["device"],
        Limits(grade_s=options["time_limit"], tries=options["tries"]),
        options["address"],
        options["cpus"],
        options["gpus"],
        options["memory"],
        options["trust"],
        options["engine_options"],
    )
    settings = Settings(left, options["strict"] or options["old_strict"], options["engine"], terms)
    get_engine(settings.engine).open(terms)  # what is wrong with it is said before anything else
    return settings


def _as_before(book: Gradebook, settings: Settings, options: dict[str, Any], as_json: bool) -> Settings:
    """Settings with the tests of the last run, if none are named; says so if these are not all."""
    from grader.classroom.grading import describe_selection, last_selection

    last = last_selection(book)
    if options["skip"] is not None or settings.strict or not last:
        return settings
    found = settings.selecting(last)
    if not as_json and found.selection != settings.selection:
        click.echo(wrapped(f"As in the last run: {describe_selection(found.selection)}."))
    return found


@dataclass(frozen=True)
class Run:
    """Arguments of `grader.classroom.grading.grade` besides the settings."""

    seed: int | None
    again: Iterable[tuple[str, str]] | None = None
    force: bool = False
    remember: bool = True


def _run(
    ctx: click.Context,
    book: Gradebook,
    settings: Settings,
    run: Run,
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
                book,
                settings,
                seed=run.seed,
                again=run.again,
                force=run.force,
                remember=run.remember,
                tally=tally,
                progress=progress,
            )
    except KeyboardInterrupt:
        advice = (
            "with --force, the same command grades all its files again"
            if run.force
            else "run the same command to continue"
        )
        click.echo(wrapped(f"\nInterrupted. Finished grades are in the gradebook; {advice}."), err=True)
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


def _print_notes(notes: Sequence[str]) -> None:
    for note in notes[:NOTES]:
        click.echo(wrapped(note))
    if len(notes) > NOTES:
        click.echo(f"  and {len(notes) - NOTES} more notes like these; --json lists all.")


def _print_tally(tally: Tally) -> None:
    from grader.classroom.overview import STATES

    new = sum(tally.states.values())
    click.echo(wrapped(f"{counted(new, 'file')} graded now, {tally.before:,} before."))
    for state, count in sorted(tally.states.items()):
        if state != "graded":
            click.echo(wrapped(f"{counted(count, 'file')} {STATES[state]}."))
    if tally.other_version:
        click.echo(
            wrapped(
                f"{counted(tally.other_version, 'file')} graded before by another version of the grader, or with other "
                "settings; run `zoo class regrade` to update them."
            )
        )
    if tally.needs_a_person:
        click.echo(wrapped("`zoo class status` lists what needs a decision."))
