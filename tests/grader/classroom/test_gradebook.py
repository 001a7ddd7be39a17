"""The gradebook when things go wrong: damaged, locked, full, foreign, on a network disk."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from grader.classroom.gradebook import BACKUPS, Gradebook, GradebookError, network_file_system
from grader.classroom.pool import Job, Outcome
from grader.classroom.schema import MIGRATIONS
from tests.grader.classroom.conftest import KEY, REPORTS, RIGHT, enter, fill, put


def test_it_is_for_its_owner_alone_and_knows_its_version(book: Gradebook) -> None:
    assert stat.S_IMODE(book.path.stat().st_mode) == 0o600
    assert book.one("PRAGMA user_version")[0] == len(MIGRATIONS)  # type: ignore[index]
    assert book.one("PRAGMA journal_mode")[0] == "wal"  # type: ignore[index]


def test_a_reader_looks_while_another_one_writes(book: Gradebook, tmp_path: Path) -> None:
    enter(book, put(tmp_path / "in", {"anna/masks.py": "right"}))
    with Gradebook(book.path) as reader:
        assert len(reader.all("SELECT * FROM submissions")) == 1
        with pytest.raises(GradebookError, match="cannot be opened or written"):
            reader.all("DELETE FROM submissions")


def test_one_writes_at_a_time(book: Gradebook) -> None:
    with pytest.raises(GradebookError, match="Another `zoo class` command"):
        Gradebook(book.path, write=True)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder in which nobody can make files")
def test_a_place_where_no_file_can_be_made() -> None:
    with pytest.raises(GradebookError, match=r"cannot be (written|created)"):
        Gradebook(Path("/proc/x.sqlite"), write=True)


def test_locked_by_another_program(book: Gradebook) -> None:
    other = sqlite3.connect(book.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    book._db.execute("PRAGMA busy_timeout = 10")
    with pytest.raises(GradebookError, match="locked"), book.transaction():
        book.set("a", "b")
    other.execute("ROLLBACK")
    other.close()
    with book.transaction():
        book.set("a", "b")
    assert book.setting("a") == "b"


def test_a_full_disk_keeps_what_is_there(book: Gradebook, tmp_path: Path) -> None:
    enter(book, put(tmp_path / "in", {"anna/masks.py": "right"}))
    fill(book, REPORTS)
    pages = book.one("PRAGMA page_count")[0]  # type: ignore[index]
    book._db.execute(f"PRAGMA max_page_count = {pages}")
    long = {**RIGHT, "results": [{**one, "message": "x" * 100_000} for one in RIGHT["results"]]}
    sha = book.one("SELECT sha256 FROM sources")[0]  # type: ignore[index]
    job = Job(0, "masks", b"", 0, "cpu", ())
    with pytest.raises(GradebookError, match="no space left"):
        book.add_grading({**KEY, "sha256": sha}, Outcome(job, "graded", "", long))
    book._db.execute("PRAGMA max_page_count = 100000")
    assert len(book.all("SELECT * FROM gradings")) == 1
    book.add_grading({**KEY, "sha256": sha}, Outcome(job, "graded", "", long))
    assert len(book.all("SELECT * FROM gradings")) == 2


def damage(path: Path) -> bytes:
    data = bytearray(path.read_bytes())
    data[2_000:-100] = b"\xa5" * (len(data) - 2_100)
    path.write_bytes(data)
    return bytes(data)


@pytest.mark.parametrize("backup", [False, True])
def test_a_damaged_one_is_left_as_it_is(tmp_path: Path, backup: bool) -> None:
    path = tmp_path / "g.sqlite"
    with Gradebook(path, write=True) as book:
        enter(book, put(tmp_path / "in", {f"s{i}/masks.py": "right" * 500 + str(i) for i in range(30)}))
        if backup:
            book.back_up()
    data = damage(path)
    for write in (True, False):
        with pytest.raises(GradebookError, match="damaged") as error:
            Gradebook(path, write=write)
        assert ("newest backup" in str(error.value)) is backup
    assert path.read_bytes() == data
    if backup:  # what the sentence says works
        (copy,) = path.with_name("g.sqlite.backups").glob("*.sqlite")
        path.write_bytes(copy.read_bytes())
        with Gradebook(path) as book:
            assert len(book.all("SELECT * FROM submissions")) == 30


def test_what_is_no_gradebook(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("hello " * 1000)
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    newer = tmp_path / "newer.sqlite"
    Gradebook(newer, write=True).close()
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    for path, sentence in (
        (text, "damaged"),
        (foreign, "another program"),
        (newer, "newer version"),
        (tmp_path, "not a file"),
        (tmp_path / "missing" / "g", "no folder"),
    ):
        with pytest.raises(GradebookError, match=sentence):
            Gradebook(path, write=True)
    (tmp_path / "empty").touch()
    with pytest.raises(GradebookError, match="is empty"):
        Gradebook(tmp_path / "empty")
    with pytest.raises(GradebookError, match="There is no gradebook"):
        Gradebook(tmp_path / "missing")


def test_backups_are_few_whole_and_private(book: Gradebook, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(BACKUPS + 2):
        monkeypatch.setattr("time.strftime", lambda _form, _time, n=number: f"2026-{n}.sqlite")
        book.back_up()
    found = sorted(book.path.with_name("gradebook.sqlite.backups").iterdir())
    assert [one.name for one in found] == [f"2026-{n}.sqlite" for n in range(2, BACKUPS + 2)]
    assert stat.S_IMODE(found[0].stat().st_mode) == 0o600


MOUNTS = """/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb /home/local\\040disk ext4 rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"), [("/tmp/g", ""), ("/home/anna/g", "nfs4"), ("/home/local disk/g", ""), ("/homes/g", "")]
)
def test_network_file_systems(path: str, kind: str) -> None:
    assert network_file_system(Path(path), MOUNTS) == kind


def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.classroom.gradebook.network_file_system", lambda _path: "nfs4")
    with pytest.raises(GradebookError, match="network file system"):
        Gradebook(tmp_path / "g", write=True)
    assert not (tmp_path / "g").exists()
