"""The gradebook: one SQLite file with everything that is known of a class.

One process writes at a time, under a lock file. Readers do not wait. What is committed survives a crash of the
program and of the machine: the write-ahead log is synchronised at each commit.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import secrets
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.classroom.layouts import attempt_in
from grader.classroom.schema import APPLICATION_ID, MIGRATIONS
from grader.core.results import clean
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from grader.classroom.discovery import Found
    from grader.classroom.pool import Outcome
    from grader.classroom.roster import Person

FILE_NAME = "gradebook.sqlite"
BACKUPS = 3
_NETWORK = frozenset(
    (
        *(
            "nfs",
            "nfs4",
            "cifs",
            "smb3",
            "smbfs",
            "ncpfs",
            "afs",
            "ceph",
            "lustre",
            "gpfs",
            "glusterfs",
            "beegfs",
        ),
        *("davfs", "pvfs2", "orangefs", "coda", "fuse.glusterfs", "fuse.sshfs", "fuse.rclone", "fuse.s3fs"),
    )
)
_BUSY_S = 10.0
FINISHED = ("graded", "unloadable", "refused", "stopped")
"""States that say something about the file. "broken" says something about the grader."""
_RESULT = ("name", "title", "category", "status", "points", "max_points", "message", "duration_s")

Row = sqlite3.Row


class GradebookError(ZooError):
    """The gradebook cannot be used: why, what is safe, and what to do."""


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into sentences."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "full" in text:
            reason = (
                f"There is no space left for the gradebook '{path}'. Everything recorded before is still there. "
                "Free some space and run the same command again; it continues where it was."
            )
        elif "locked" in text or "busy" in text:
            reason = (
                f"Another program has locked the gradebook '{path}'. Close it (a database browser, say) and run "
                "the same command again. Nothing was lost."
            )
        elif "malformed" in text or "not a database" in text or "corrupt" in text:
            reason = _damaged(path, text)
        elif "readonly" in text or "unable to open" in text or "disk I/O" in text:
            reason = (
                f"The gradebook '{path}' cannot be opened or written ({text}). Nothing in it was changed."
            )
        else:
            raise
        raise GradebookError(reason) from error


def _damaged(path: Path, what: str) -> str:
    found = sorted(_backup_folder(path).glob("*.sqlite"))
    advice = (
        f"The newest backup is '{found[-1]}': move the damaged file away, copy the backup to its place, and run "
        "the same command again; only what is missing is graded."
        if found
        else "There is no backup. Move the damaged file away and run the same command again: all is graded anew."
    )
    return f"The gradebook '{path}' is damaged ({what}). It was left as it is. {advice}"


def _backup_folder(path: Path) -> Path:
    return path.with_name(f"{path.name}.backups")


def network_file_system(path: Path, mounts: str | None = None) -> str:
    """The type of the network file system that `path` lies on, or "" where it lies on none or nobody can tell."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mounts").read_text(errors="replace")
        except OSError:
            return ""
    place, best, kind = path.resolve(), -1, ""
    for line in mounts.splitlines():
        fields = line.split()
        if len(fields) < 3:
            continue
        point = Path(fields[1].encode().decode("unicode_escape"))
        if place.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), fields[2]
    return kind if kind in _NETWORK else ""


class Gradebook:
    """An open gradebook. Use it as a context manager.

    Args:
        path: the file.
        write: open it for writing, and make it if it does not exist. A reader may look while another one writes.

    Raises:
        GradebookError: it does not exist, is damaged or locked, was made by a newer version, or lies on a network
            file system.
    """

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path = path
        self._stack = contextlib.ExitStack()
        try:
            self._open(write)
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Gradebook:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it, and let others write. Harmless when repeated."""
        self._stack.close()

    def _open(self, write: bool) -> None:
        path = self.path
        if not path.exists() and not write:
            raise GradebookError(
                f"There is no gradebook '{path}'. `zoo class grade FOLDER` makes one; --gradebook names another."
            )
        if not path.absolute().parent.is_dir():
            raise GradebookError(f"There is no folder '{path.parent}' for the gradebook.")
        if path.exists() and not path.is_file():
            raise GradebookError(f"'{path}' is not a file, so it cannot be a gradebook.")
        if kind := network_file_system(path):
            raise GradebookError(
                f"'{path}' is on a network file system ({kind}), where SQLite's locks fail and databases break. "
                "Name a place on a local disk with --gradebook."
            )
        if write:
            self._lock()
            if not path.exists():
                try:
                    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
                except OSError as error:
                    raise GradebookError(f"'{path}' cannot be created: {error.strerror}.") from error
        with _explained(path):
            self._db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
            self._stack.callback(self._db.close)
            self._db.row_factory = sqlite3.Row
            self._db.execute("PRAGMA foreign_keys = ON")
            self._check()
            version = self._version()
            if version > len(MIGRATIONS):
                raise GradebookError(
                    f"'{path}' was made by a newer version of zoo (format {version}; this one knows up to "
                    f"{len(MIGRATIONS)}). Update transformer-zoo."
                )
            if write:
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")
                self._migrate(version)
                if not self.setting("salt"):
                    with self.transaction():
                        self.set("salt", secrets.token_hex(16))
                path.chmod(0o600)
            elif version == 0:
                raise GradebookError(f"'{path}' is empty. `zoo class grade FOLDER` fills it.")
            elif version < len(MIGRATIONS):
                raise GradebookError(
                    f"'{path}' has an older format. `zoo class grade` or `zoo class regrade` updates it."
                )
            else:
                self._db.execute("PRAGMA query_only = ON")

    def _lock(self) -> None:
        from filelock import FileLock, Timeout

        lock = FileLock(f"{self.path}.lock", timeout=0, mode=0o600)
        try:
            self._stack.enter_context(lock)
        except Timeout as error:
            if not Path(lock.lock_file).exists():  # the library waits also where no file can be made
                raise GradebookError(
                    f"'{self.path}' cannot be written: no files can be created in that folder. Name another one."
                ) from error
            raise GradebookError(
                f"Another `zoo class` command is writing to '{self.path}'. Wait for it to end. `zoo class status` "
                "shows how far it is."
            ) from error
        except OSError as error:
            raise GradebookError(f"'{self.path}.lock' cannot be written: {error.strerror}.") from error

    def _check(self) -> None:
        """Check the file's integrity. Raises GradebookError."""
        if self.path.stat().st_size == 0:
            return
        found = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise GradebookError(_damaged(self.path, str(found).splitlines()[-1]))
        if self._db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if tables:
                raise GradebookError(f"'{self.path}' is a database of another program. It was left as it is.")

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    def _migrate(self, version: int) -> None:
        if 0 < version < len(MIGRATIONS):
            self.back_up()
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            with self.transaction():
                self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                for statement in script.split(";\n"):
                    if statement.strip():
                        self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {number}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of what is written in it, or nothing."""
        with _explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                if self._db.in_transaction:  # SQLite itself rolls back when the disk is full
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def all(self, query: str, values: Sequence[object] | Mapping[str, object] = ()) -> list[Row]:
        """All rows of a query."""
        with _explained(self.path):
            return self._db.execute(query, values).fetchall()

    def one(self, query: str, values: Sequence[object] | Mapping[str, object] = ()) -> Row | None:
        """The first row of a query, or None."""
        found = self.all(query, values)
        return found[0] if found else None

    def execute(self, query: str, values: Sequence[object] = ()) -> int:
        """Run a statement; the id of the row that it inserted."""
        return self._db.execute(query, values).lastrowid or 0

    def back_up(self) -> Path | None:
        """Copy the gradebook to its folder of backups, keep the newest `BACKUPS`. None if it is empty."""
        if self._version() == 0:
            return None
        folder = _backup_folder(self.path)
        target = folder / time.strftime("%Y%m%d-%H%M%S.sqlite", time.gmtime())
        partial = target.with_suffix(".partial")
        with _explained(self.path):
            try:
                folder.mkdir(mode=0o700, exist_ok=True)
                with contextlib.closing(sqlite3.connect(partial)) as copy:
                    self._db.backup(copy)
                partial.chmod(0o600)
                partial.replace(target)
                for old in sorted(folder.glob("*.sqlite"))[:-BACKUPS]:
                    old.unlink()
            except OSError as error:
                raise GradebookError(f"No backup can be written to '{folder}': {error.strerror}.") from error
            finally:
                partial.unlink(missing_ok=True)
        return target

    # Settings.

    def setting(self, name: str, default: str = "") -> str:
        """A setting's value."""
        row = self.one("SELECT value FROM settings WHERE name = ?", (name,))
        return default if row is None else str(row["value"])

    def set(self, name: str, value: str) -> None:
        """Set a setting. Within a transaction."""
        self.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    # Students and submissions.

    def add_student(self, person: Person) -> int:
        """Add a student, or add to what is known of one; the id. Within a transaction."""
        row = self.one("SELECT * FROM students WHERE key = ?", (person.key,))
        if row is None:
            return self._insert(
                "students",
                key=person.key,
                name=person.name,
                email=person.email,
                section=person.section,
                ids=json.dumps(person.ids, sort_keys=True),
                in_roster=person.in_roster,
            )
        ids = {**json.loads(row["ids"]), **person.ids}
        self.execute(
            "UPDATE students SET name = ?, email = ?, section = ?, ids = ?, in_roster = ? WHERE id = ?",
            (
                person.name or row["name"],
                person.email or row["email"],
                person.section or row["section"],
                json.dumps(ids, sort_keys=True),
                person.in_roster or row["in_roster"],
                row["id"],
            ),
        )
        return int(row["id"])

    def add_submission(self, student: int, found: Found) -> bool:
        """Add a submission; False if it is known. Within a transaction."""
        self.execute(
            "INSERT OR IGNORE INTO sources VALUES (?, ?, ?)", (found.sha256, found.size, found.source)
        )
        known = self.one(
            "SELECT id FROM submissions WHERE student = ? AND exercise = ? AND path = ? AND sha256 = ?",
            (student, found.exercise, found.path, found.sha256),
        )
        if known is not None:
            self.execute(
                "UPDATE submissions SET submitted_at = ?, time_source = ?, marked_late = ?, commit_id = ? WHERE id = ?",
                (found.submitted_at, found.time_source, found.marked_late, found.commit, known["id"]),
            )
            return False
        self._insert(
            "submissions",
            student=student,
            exercise=found.exercise,
            sha256=found.sha256,
            path=found.path,
            layout=found.layout,
            submitted_at=found.submitted_at,
            time_source=found.time_source,
            marked_late=found.marked_late,
            attempt=0,  # until all are numbered
            commit_id=found.commit,
            found_at=time.time(),
        )
        return True

    def number_attempts(self) -> None:
        """Number each student's attempts at an exercise. Within a transaction.

        The order is that of time where all times are known, else that of the numbers in names, then of the files.
        """
        groups: dict[tuple[int, str], list[Row]] = {}
        for row in self.all("SELECT * FROM submissions ORDER BY id"):
            groups.setdefault((row["student"], row["exercise"]), []).append(row)
        for rows in groups.values():
            known = all(row["time_source"] not in ("", "file") for row in rows)
            rows.sort(key=lambda row: (0 if known else attempt_in(row["path"]), row["submitted_at"] or 0.0))
            for place, row in enumerate(rows, 1):
                if row["attempt"] != place:
                    self.execute("UPDATE submissions SET attempt = ? WHERE id = ?", (place, row["id"]))

    # Gradings.

    def add_grading(self, key: Mapping[str, Any], outcome: Outcome) -> int:
        """Add what a grade found, in one transaction; the id.

        Args:
            key: sha256, grader, torch, device, sandbox, seed, selection.
            outcome: of the pool.
        """
        job, report = outcome.job, outcome.report
        results = report["results"] if report else []
        with self.transaction():
            grading = self._insert(
                "gradings",
                exercise=job.exercise,
                **key,
                state=outcome.state,
                reason=clean(outcome.reason),
                points=None if outcome.needs_a_person else sum(one["points"] for one in results),
                max_points=sum(one["max_points"] for one in results) if results else None,
                passed=bool(results) and all(one["status"] == "passed" for one in results),
                tries=outcome.tries,
                graded_at=time.time(),
                duration_s=outcome.duration_s,
                cpu_s=outcome.cpu_s,
                report=None if report is None else zlib.compress(json.dumps(report).encode()),
            )
            self._add_results(grading, results)
        return grading

    def _add_results(self, grading: int, results: Sequence[Mapping[str, Any]]) -> None:
        """Add the tests of a grading, and the mistakes that they named."""
        for place, one in enumerate(results):
            columns = {name: one[name] for name in _RESULT}
            self._insert("results", grading=grading, place=place, **columns)
        named = ((one["name"], mistake) for one in results for mistake in one["mistakes"])
        for place, (test, mistake) in enumerate(named):
            self._insert(
                "diagnoses",
                grading=grading,
                place=place,
                test=test,
                mistake=mistake["id"],
                text=mistake["text"],
                hint=mistake["hint"],
                line=(mistake.get("where") or {}).get("line"),
            )

    def _insert(self, table: str, **values: Any) -> int:
        """Insert a row; its id."""
        columns = ", ".join(values)
        return self.execute(
            f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(values))})", tuple(values.values())
        )

    def find_student(self, text: str, masks: Mapping[int, str] | None = None) -> Row:
        """The student with this key, email, id, or part of a name.

        Args:
            text: what to look for.
            masks: other names by the number of the student: also looked for, and the only ones in an error's text.

        Raises:
            ZooError: there is none, or there are several.
        """
        masks = masks or {}
        wanted = text.casefold()
        rows = self.all("SELECT * FROM students ORDER BY key")
        exact = [
            row
            for row in rows
            if wanted in (row["key"].casefold(), row["email"].casefold(), row["name"].casefold())
            or wanted in (str(one).casefold() for one in json.loads(row["ids"]).values())
            or wanted == masks.get(row["id"], "").casefold()
        ]
        near = exact or [
            row for row in rows if wanted in row["name"].casefold() or wanted in row["key"].casefold()
        ]
        if len(near) == 1:
            return near[0]
        if not near:
            known = [masks.get(row["id"]) or row["name"] or row["key"] for row in rows]
            labels = {one.casefold(): one for one in known}
            nearest = [labels[one] for one in difflib.get_close_matches(wanted, labels, cutoff=0.0)]
            advice = f" The nearest names are {', '.join(nearest)}." if nearest else ""
            listing = f"zoo class export grades{' --anonymous' * bool(masks)}"
            raise ZooError(f"No student is called '{text}'.{advice} `{listing}` lists all students.")
        # Sorted, since the order of the real keys would give masked students away.
        keys = sorted(masks.get(row["id"]) or row["key"] for row in near)
        listed = ", ".join(keys[:5]) + (", ..." if len(keys) > 5 else "")
        raise ZooError(f"'{text}' can mean {len(near)} students: {listed}. Name one of these.")
