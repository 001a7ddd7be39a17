"""Grades a class: what was found goes into the gradebook, what is not graded yet goes to the pool.

Each grade is one transaction, so that a run that was killed continues where it was. Imports no torch, except to
find the device that "auto" means.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from grader.catalog import CATEGORIES, get_exercises
from grader.classroom import finals
from grader.classroom.discovery import Discovery
from grader.classroom.engines import Terms, get_engine
from grader.classroom.gradebook import FINISHED, Gradebook, Row
from grader.classroom.plan import expected_cost
from grader.classroom.pool import Job, Outcome
from grader.classroom.roster import Matcher, Person, Roster
from grader.run.run import MAX_SOURCE

_ENGINE_ROOMS = ("core", "engine", "run", "sandbox", "training", "worker")
_SIBLING = re.compile(r"grader\.exercises\.(\w+)")


@dataclass(frozen=True)
class Settings:
    """Settings for grading a class.

    Attributes:
        categories: of the tests to run.
        strict: refuse a library's own attention.
        engine: name of what grades.
        terms: for the engine; its device may be "auto".
    """

    categories: tuple[str, ...] = CATEGORIES
    strict: bool = False
    engine: str = "local"
    terms: Terms = field(default_factory=Terms)

    @property
    def selection(self) -> str:
        """Return what a grade depends on beside the file, the grader and the device."""
        return ",".join([*(one for one in CATEGORIES if one in self.categories), *["strict"] * self.strict])

    def selecting(self, selection: str) -> Settings:
        """The same with the tests of a `selection`; those that no longer exist are left out."""
        named = selection.split(",")
        left = tuple(one for one in CATEGORIES if one in named)
        return replace(self, categories=left or CATEGORIES, strict="strict" in named)


@dataclass
class Tally:
    """Counts of what a run did.

    Attributes:
        new: submissions that were not known before.
        known: submissions that were.
        before: files that had been graded before.
        states: how many files ended in which state, in this run.
        needs_a_person: how many of these have no grade for a reason that may not be their own.
        other_version: files whose grading is by another version of the grader, torch or sandbox.
        notes: about students.
    """

    new: int = 0
    known: int = 0
    before: int = 0
    states: dict[str, int] = field(default_factory=dict)
    needs_a_person: int = 0
    other_version: int = 0
    notes: list[str] = field(default_factory=list)


def record(book: Gradebook, found: Discovery, roster: Roster | None) -> Tally:
    """Add the students, the submissions, and what could not be placed, in one transaction."""
    tally, now = Tally(), time.time()
    with book.transaction():
        for person in roster.people if roster else ():
            book.add_student(person)
        known = [
            Person(
                row["key"],
                row["name"],
                row["email"],
                row["section"],
                json.loads(row["ids"]),
                bool(row["in_roster"]),
            )
            for row in book.all("SELECT * FROM students ORDER BY id")
        ]
        before = book.all("SELECT DISTINCT key, path FROM submissions s JOIN students t ON t.id = s.student")
        matcher = Matcher(known, [(row["key"], row["path"]) for row in before])
        for one in found.submissions:
            person, note = matcher.match(one.owner.name, one.owner.ids, one.owner.email, one.path)
            if note and note not in tally.notes:
                tally.notes.append(note)
            ids = {**person.ids, **{w: i for w, i in one.owner.ids.items() if w not in person.ids}}
            student = book.add_student(
                Person(
                    person.key,
                    person.name,
                    person.email or one.owner.email,
                    person.section,
                    ids,
                    person.in_roster,
                )
            )
            if book.add_submission(student, one):
                tally.new += 1
            else:
                tally.known += 1
        book.number_attempts()
        book.execute("DELETE FROM unplaced")
        for path, reason in found.unplaced:
            book.execute("INSERT OR REPLACE INTO unplaced VALUES (?, ?, ?)", (path, reason, now))
    return tally


def last_selection(book: Gradebook) -> str:
    """The `Settings.selection` that the class is graded with; "" before the first run."""
    row = book.one("SELECT selection FROM gradings ORDER BY id DESC LIMIT 1")  # from before it was remembered
    return book.setting("selection") or ("" if row is None else str(row["selection"]))


def describe_selection(selection: str) -> str:
    """For people: "all tests", "all tests but training", with the rule that is checked."""
    named = selection.split(",")
    skipped = ", ".join(one for one in CATEGORIES if one not in named)
    rule = ", no library attention" if "strict" in named else ""
    return f"all tests{f' but {skipped}' if skipped else ''}{rule}"


Progress = Callable[[Outcome, int, int], None]


def grade(
    book: Gradebook,
    settings: Settings,
    *,
    seed: int | None = None,
    again: Iterable[tuple[str, str]] | None = None,
    force: bool = False,
    remember: bool = True,
    tally: Tally | None = None,
    progress: Progress = lambda _outcome, _done, _total: None,
) -> Tally:
    """Grade what has no grade.

    Args:
        book: open for writing.
        settings: see there.
        seed: of the tests' draws; None: that of the last run, drawn once for the whole class.
        again: (exercise, hash) of files that are graded again unless this very version has graded them; None: files
            that no version has graded.
        force: grade those of `again` even if this very version has graded them.
        remember: the selection and the seed are those of the class from now on.
        tally: to be continued.
        progress: called after each grade, with how many are done and how many there are.

    Raises:
        ZooError: the engine, sandbox or device that was asked for is not available, or the gradebook cannot be
            written.
        GraderBrokenError: judges cannot be started.
    """
    tally = tally or Tally()
    terms = replace(settings.terms, device=_device(settings.terms.device))
    engine = get_engine(settings.engine).open(terms)
    key = _key(terms.device, engine.level, _seed(book, seed), settings.selection)
    if remember:
        _remember(book, key)
    work, tally.before, tally.other_version = _work(book, key, again, force)
    done = 0

    def keep(outcome: Outcome) -> None:
        nonlocal done
        row = work[outcome.job.id]
        mine = {**key, "sha256": row["sha256"], "grader": fingerprint(outcome.job.exercise)}
        book.add_grading(mine, outcome)
        done += 1
        tally.needs_a_person += outcome.needs_a_person
        tally.states[outcome.state] = tally.states.get(outcome.state, 0) + 1
        progress(outcome, done, len(work))

    jobs = []
    for job in _jobs(book, settings, key, work):
        if (outcome := _without_a_grade(job, work[job.id])) is not None:
            keep(outcome)
        else:
            jobs.append(job)
    if jobs:
        with engine:
            for outcome in engine.run(jobs):
                keep(outcome)
    finals.compute(book)
    return tally


def _key(device: str, sandbox: str, seed: int, selection: str) -> dict[str, object]:
    """Return the settings that all grades of one run share, see `Gradebook.add_grading`."""
    torch = importlib.metadata.version("torch")
    return {"torch": torch, "device": device, "sandbox": sandbox, "seed": seed, "selection": selection}


def _remember(book: Gradebook, key: Mapping[str, object]) -> None:
    """Let the class be graded with this selection and seed from now on."""
    with book.transaction():
        for name in ("selection", "seed"):
            book.set(name, str(key[name]))


def _jobs(book: Gradebook, settings: Settings, key: Mapping[str, object], work: Sequence[Row]) -> list[Job]:
    """A job for each file, numbered in order, with the CPU time that it is expected to take."""
    costs = {
        one: expected_cost(book, one, settings.selection)[0] for one in {row["exercise"] for row in work}
    }
    return [
        Job(
            number,
            row["exercise"],
            row["content"] or b"",
            int(str(key["seed"])),
            str(key["device"]),
            settings.categories,
            settings.strict,
            costs[row["exercise"]],
        )
        for number, row in enumerate(work)
    ]


def _without_a_grade(job: Job, row: Row) -> Outcome | None:
    """The outcome of a file that cannot be graded at all; None for all others."""
    if job.exercise not in get_exercises():
        return Outcome(job, "broken", f"There is no exercise '{job.exercise}' any more.")
    if row["content"] is None:
        size = f"{row['bytes'] / 2**20:.1f} MB"
        reason = f"The file has {size}; expected at most {MAX_SOURCE / 2**20:g} MB of Python."
        return Outcome(job, "unloadable", reason)
    return None


def _device(name: str) -> str:
    """The device that is meant; only "auto" imports torch."""
    if name != "auto":
        return name
    from zoo.models.devices import resolve_device

    return resolve_device(name).type


def _seed(book: Gradebook, seed: int | None) -> int:
    """The seed, or that of the gradebook, or of its last grade; drawn where there is none."""
    if seed is not None:
        return seed
    row = book.one("SELECT seed FROM gradings ORDER BY id DESC LIMIT 1")
    last = secrets.randbelow(2**31) if row is None else row["seed"]
    return int(book.setting("seed") or last)


def _work(
    book: Gradebook, key: dict[str, object], again: Iterable[tuple[str, str]] | None, force: bool
) -> tuple[list[Row], int, int]:
    """Return what is to be graded, how many files have a grade, and how many of those by another version."""
    files = book.all(
        "SELECT DISTINCT s.exercise, s.sha256, f.bytes, f.content FROM submissions s JOIN sources f USING (sha256) "
        "ORDER BY s.exercise, s.sha256"
    )
    gradings: dict[tuple[str, str], Row] = {}
    for row in book.all(
        "SELECT exercise, sha256, grader, torch, device, sandbox, seed, selection FROM gradings "
        f"WHERE state IN ({', '.join('?' * len(FINISHED))}) ORDER BY id",
        FINISHED,
    ):
        gradings[row["exercise"], row["sha256"]] = row  # the last one counts
    wanted = None if again is None else set(again)
    work, before, other = [], 0, 0
    for file in files:
        last = gradings.get((file["exercise"], file["sha256"]))
        mine = last is not None and last["selection"] == key["selection"]
        same = (
            last is not None
            and last["grader"] == fingerprint(file["exercise"])
            and all(last[name] == key[name] for name in key)
        )
        if wanted is not None:
            needed = (file["exercise"], file["sha256"]) in wanted and (force or not same)
        else:
            needed = not mine
        if needed:
            work.append(file)
        else:
            before += 1
            other += not same
    return work, before, other


@cache
def fingerprint(exercise: str) -> str:
    """The version of what grades an exercise: it changes with its tests, its mistakes, and the grader's code."""
    version = importlib.metadata.version("transformer-zoo")
    known = get_exercises().get(exercise)
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    folders = [root / room for room in _ENGINE_ROOMS]
    folders += _packages(known.test_files()[0].parent.parent) if known is not None else []
    for folder in folders:
        for file in sorted(folder.rglob("*.py")):
            digest.update(f"{file.relative_to(folder)}\0".encode() + file.read_bytes())
    return f"{version}+{digest.hexdigest()[:12]}"


def _packages(package: Path) -> list[Path]:
    """An exercise's package and those of the exercises that it imports."""
    found, left = [], [package]
    while left:
        folder = left.pop()
        if folder in found or not folder.is_dir():
            continue
        found.append(folder)
        text = "".join(file.read_text(encoding="utf-8") for file in sorted(folder.rglob("*.py")))
        left += [package.parent / name for name in sorted(set(_SIBLING.findall(text)))]
    return sorted(found)


def to_regrade(
    book: Gradebook,
    *,
    exercise: str = "",
    student: int | None = None,
    failed: bool = False,
    since: float | None = None,
) -> Sequence[tuple[str, str]]:
    """The files that `zoo class regrade` grades again: (exercise, hash).

    Args:
        book: the gradebook.
        exercise: of this exercise only.
        student: of this student only.
        failed: only what has not passed.
        since: only what was graded at this time or later.
    """
    rows = book.all(
        f"SELECT DISTINCT s.exercise, s.sha256 FROM submissions s LEFT JOIN ({finals.LATEST_GRADINGS}) g "
        "ON g.exercise = s.exercise AND g.sha256 = s.sha256 "
        "WHERE (:exercise = '' OR s.exercise = :exercise) AND (:student IS NULL OR s.student = :student) "
        "AND (NOT :failed OR g.id IS NULL OR NOT g.passed) "
        "AND (:since IS NULL OR g.id IS NULL OR g.graded_at >= :since)",
        {"exercise": exercise, "student": student, "failed": failed, "since": since},
    )
    return [(row["exercise"], row["sha256"]) for row in rows]
