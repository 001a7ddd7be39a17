"""Disks that are full and folders that may not be written: the grade is told, and no file is half-written."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.learner.record import FILE_NAME, HEADER, Entry, read, update
from tests import solution_file
from tests.grader.ordinary import ROOT, open_folder, run, why_not
from tests.grader.processes import ZOO
from zoo.core.errors import ZooError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts file systems of Linux")
# As where every folder for temporary files is on that disk, and not the one of TMPDIR alone.
ONLY_THERE = "import os, tempfile; tempfile._candidate_tempdir_list = lambda: [os.environ['TMPDIR']]; "
PAGE = os.sysconf("SC_PAGE_SIZE")
LONG = "\n".join((*HEADER, "masks: tried; points 3/20", *("# mine" * 100 for _ in range(20)))) + "\n"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tests", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(disk: Path, *, but: int = 0) -> None:
    """Leave nothing of it, or so many bytes (whole pages)."""
    if but:
        (disk / "spared").write_bytes(b"x" * but)
    with (disk / "filling").open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * PAGE)
    if but:
        (disk / "spared").unlink()


def grade(*words: object, start: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*ZOO[:2], start + ZOO[2], "grade", *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300, check=False
    )


def said(done: subprocess.CompletedProcess[str]) -> str:
    """What people are told beside the report, with single spaces between words."""
    assert "Traceback" not in done.stdout + done.stderr
    return " ".join(done.stderr.split())


def template(folder: Path) -> Path:
    (folder / "masks.py").write_bytes((ROOT / "exercises" / "masks.py").read_bytes())
    return folder / "masks.py"


@pytest.mark.parametrize("but", [0, PAGE])
def test_a_record_on_a_full_disk_stays_as_it_was(disk: Path, but: int) -> None:
    """With a page left, the new file is begun, and there is no room for its end."""
    assert PAGE < len(LONG) < 4 * PAGE
    (disk / FILE_NAME).write_text(LONG)
    fill(disk, but=but)
    before = {one.name for one in disk.iterdir()}
    with pytest.raises(ZooError, match=r"progress\.txt' cannot be written: No space left on device\.$"):
        update(disk, "masks", lambda _: Entry("solved", "20/20"))
    assert (disk / FILE_NAME).read_text() == LONG
    assert {one.name for one in disk.iterdir()} - before <= {f".{FILE_NAME}.lock"}
    (disk / "filling").unlink()
    update(disk, "masks", lambda _: Entry("solved", "20/20"))
    assert read(disk).entry("masks") == Entry("solved", "20/20")


def test_a_record_that_may_not_grow_stays_as_it_was(tmp_path: Path) -> None:
    """What needs no mount: the kernel lets no file grow over a size."""
    (tmp_path / FILE_NAME).write_text(LONG)
    code = (
        "import resource, sys, pathlib; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "from grader.learner.record import Entry, update; from zoo.core.errors import ZooError\n"
        "try: update(pathlib.Path(sys.argv[1]), 'masks', lambda _: Entry('solved'))\n"
        "except ZooError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("progress.txt' cannot be written: File too large.\n")
    assert (tmp_path / FILE_NAME).read_text() == LONG
    assert {one.name for one in tmp_path.iterdir()} <= {FILE_NAME, f".{FILE_NAME}.lock"}


@pytest.mark.slow
def test_a_grade_in_a_folder_on_a_full_disk_is_told(disk: Path) -> None:
    file = template(disk)
    (disk / FILE_NAME).write_text(LONG)
    fill(disk)
    done = grade(file)
    assert done.returncode == 1  # nothing is written yet
    assert "".join(done.stdout.split()).startswith(f"Graded{file}:")
    assert said(done) == (
        "Your progress was not saved; the grade itself is not affected. "
        f"'{disk}/{FILE_NAME}' cannot be written: No space left on device."
    )
    assert (disk / FILE_NAME).read_text() == LONG


@pytest.mark.slow
def test_a_report_onto_a_full_disk_leaves_the_old_one(disk: Path) -> None:
    report = disk / "report.json"
    report.write_text("old")
    fill(disk)
    done = grade(ROOT / "exercises" / "masks.py", "--format=json", f"--output={report}")
    assert done.returncode == 74
    assert "No space left on device" in said(done)
    assert report.read_text() == "old"
    assert {one.name for one in disk.iterdir()} == {"report.json", "filling"}


@pytest.mark.slow
def test_without_room_for_temporary_files_there_is_no_grade(disk: Path) -> None:
    fill(disk)
    done = grade(ROOT / "exercises" / "masks.py", start=ONLY_THERE, TMPDIR=str(disk))
    assert (done.returncode, done.stdout) == (3, "")
    assert said(done).startswith(
        "Internal error of the grader; your code is not at fault. A temporary file, which"
    )
    assert [one.name for one in disk.iterdir()] == ["filling"]


@pytest.mark.slow
def test_a_disk_that_fills_up_while_it_is_graded(disk: Path) -> None:
    """The file's own writing fails, in words; right code, which writes nothing, passes."""
    fill(disk, but=PAGE)
    right = solution_file("masks")
    wrong = disk.parent / "masks.py"
    wrong.write_text(f"open('x', 'w').write('x' * {3 * PAGE})\n{right.read_text()}")
    done = grade(
        right, wrong, "--quick", "--format=json", f"--output={disk.parent}/report.json",
        start=ONLY_THERE, TMPDIR=str(disk),
    )  # fmt: skip
    assert done.returncode == 1
    assert said(done) == ""
    reports = json.loads((disk.parent / "report.json").read_text())
    assert [report["passed"] for report in reports] == [True, False]
    assert "No space left on device" in reports[1]["tests"][0]["message"]
    assert [one.name for one in disk.iterdir()] == ["filling"]


@pytest.mark.slow
def test_a_folder_that_an_ordinary_user_may_not_write_in() -> None:
    if why_not():
        pytest.skip(why_not())
    with open_folder() as folder:
        mine = folder / "exercises"
        mine.mkdir()
        file = template(mine)
        (mine / FILE_NAME).write_text(LONG)
        mine.chmod(0o555)
        done = run([*ZOO, "grade", str(file)], folder)
        assert done.returncode == 1, done.stderr
        assert "".join(done.stdout.split()).startswith(f"Graded{file}:")
        assert said(done) == (
            "Your progress was not saved; the grade itself is not affected. "
            f"'{mine}/{FILE_NAME}' cannot be written: Permission denied."
        )
        assert (mine / FILE_NAME).read_text() == LONG
        assert {one.name for one in mine.iterdir()} == {"masks.py", FILE_NAME}
        mine.chmod(0o755)
