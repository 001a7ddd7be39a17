"""`zoo watch` on a terminal of its own: saves, keys, and every way to end."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from grader.catalog import get_exercise
from grader.cli.keys import Keys
from grader.cli.watch import Session, begin_progress, started
from grader.learner import watching
from grader.learner.record import FILE_NAME, Entry, read, update
from tests import solution_file, template_file
from tests.grader.learner.terminal import START, Terminal
from tests.zoo.cli.conftest import ROOT
from zoo.core.errors import ZooError

SOLUTION = solution_file("feedforward").read_text(encoding="utf-8")
TEMPLATE = template_file("feedforward").read_text(encoding="utf-8")
BROKEN = "def forward(:\n"  # not even Python, so a grade of it is soon over
READY = "q quit"
pytestmark = pytest.mark.filterwarnings("ignore:This process")  # forking beside threads of hypothesis


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A learner's folder with one exercise, which is not Python."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "feedforward.py").write_text(BROKEN)
    return tmp_path / "mine"


def watch(folder: Path, *arguments: str) -> Terminal:
    return Terminal("watch", "--quick", *arguments, cwd=folder, ZOO_MARK=str(folder))


def left(folder: Path) -> list[str]:
    """Commands that are still running and were started by a watch of this folder."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"ZOO_MARK={folder}".encode() in environ.read_bytes():
                found.append(environ.with_name("cmdline").read_text())
        except OSError:
            continue
    return found


# The parts.


def test_watching_an_exercise_creates_a_progress_file_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exercise = get_exercise("feedforward")
    for name in ("feedforward.py", "mine.py"):
        (tmp_path / name).touch()
    (tmp_path / "package").mkdir()
    for name in ("__init__.py", "feedforward.py"):
        (tmp_path / "package" / name).touch()
    begin_progress(tmp_path / "mine.py", exercise)
    begin_progress(tmp_path / "package" / "feedforward.py", exercise)
    assert capsys.readouterr() == ("", "")
    begin_progress(tmp_path / "feedforward.py", exercise)
    said = capsys.readouterr()
    assert " ".join(said.out.split()).startswith("Created ")
    assert read(tmp_path).empty()
    assert not (tmp_path / "package" / FILE_NAME).exists()
    update(tmp_path, "feedforward", lambda _: Entry("tried"))
    begin_progress(tmp_path / "feedforward.py", exercise)
    assert read(tmp_path).entry("feedforward") == Entry("tried")
    assert capsys.readouterr() == ("", "")
    (tmp_path / FILE_NAME).write_text("Monday: went for a walk\n")
    begin_progress(tmp_path / "feedforward.py", exercise)
    assert "is not a progress file of zoo" in " ".join(capsys.readouterr().err.split())
    assert (tmp_path / FILE_NAME).read_text() == "Monday: went for a walk\n"


def test_saving_the_same_text_does_not_grade_it_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[bytes | None] = []

    def start(session: Session) -> None:
        while session.queue:
            started.append(session.contents[session.queue.pop()])

    monkeypatch.setattr(Session, "_start", start)
    file = folder / "feedforward.py"
    session = Session({file: get_exercise("feedforward")}, Keys(), quick=True)
    for text in (BROKEN, BROKEN, TEMPLATE):
        (folder / "saved").write_text(text)
        (folder / "saved").replace(file)
        session._changed()
    assert started == [BROKEN.encode(), TEMPLATE.encode()]


def test_of_several_files_those_that_were_saved_are_graded_in_turn(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One at a time; a save of the file that is being graded ends that grade, one of another file does not."""
    files = [folder / "feedforward.py", folder / "norm.py", folder / "masks.py"]
    started: list[str] = []

    class Process:
        returncode = 1

        def __init__(self, arguments: list[str], **_: object) -> None:
            started.append(Path(arguments[-1]).name)
            self.ended = False

        def poll(self) -> int | None:
            return self.returncode if self.ended else None

        def send_signal(self, number: int) -> None:
            started.append(f"ended by {number}")

        def wait(self, timeout: float) -> int:
            return self.returncode

    monkeypatch.setattr("grader.cli.watch.subprocess.Popen", Process)
    session = Session({file: get_exercise(file.stem) for file in files}, Keys(), quick=True)
    for file in files:
        file.write_text(BROKEN)
    session._changed()
    assert (started, session.file) == (["feedforward.py"], files[0])
    files[2].write_text(BROKEN + "#")  # it waits already
    session._changed()
    files[0].write_text(BROKEN + "#")  # it is being graded: that is given up, and it goes to the end
    session._changed()
    assert started == ["feedforward.py", f"ended by {signal.SIGINT}", "norm.py"]
    for _ in range(5):
        if session.grade is not None:
            session.grade.ended = True  # type: ignore[attr-defined]
        session._finished()
    assert started[3:] == ["masks.py", "feedforward.py"]
    files[1].unlink()
    session._changed()
    assert (session.grade, session.queue) == (None, [])


def test_names_are_printed_on_one_line_without_control_characters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("grader.cli.watch.wrapped", str)
    monkeypatch.setattr("grader.cli.watch.started", lambda _: subprocess.Popen(["true"]))
    file = tmp_path / "a\u202eb\n\x1b[31mc\u2028d" / "masks.py"
    file.parent.mkdir()
    file.touch()
    begin_progress(file, get_exercise("masks"))
    session = Session({file: get_exercise("masks")}, Keys(), quick=True)
    session._changed()
    assert session.grade is not None
    session.grade.wait(timeout=60)
    session._finished()
    session._do("r", False)
    file.unlink()
    session._changed()
    lines = [line for line in capsys.readouterr().out.split("\n") if line]
    assert len(lines) == 5
    assert all("/ab [31mc d/" in line for line in lines)


def test_watching_goes_on_where_no_progress_file_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_only(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    (tmp_path / "feedforward.py").touch()
    monkeypatch.setattr("grader.learner.files.os.fsync", read_only)
    begin_progress(tmp_path / "feedforward.py", get_exercise("feedforward"))
    assert "Read-only file system" in capsys.readouterr().err
    assert {one.name for one in tmp_path.iterdir()} == {"feedforward.py"}


def test_a_watcher_notes_a_new_file_a_renamed_one_and_one_that_goes(tmp_path: Path) -> None:
    file = tmp_path / "attention.py"
    with watching.Watcher(watching.folders_of(file)) as watcher:
        for change in (
            lambda: file.write_text("1"),
            lambda: (tmp_path / "new").write_text("2") and (tmp_path / "new").replace(file),
            lambda: file.unlink(),
        ):
            watcher.changed.clear()
            change()
            assert watcher.changed.wait(20)
    assert watcher.ended == ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "darwin", reason="file names are UTF-8 there")
def test_a_name_that_is_not_utf_8_does_not_end_a_watcher(tmp_path: Path) -> None:
    with watching.Watcher([tmp_path]) as watcher:
        assert watcher.changed.wait(20)  # it has started
        (tmp_path / os.fsdecode(b"caf\xe9.txt")).touch()
        for _ in range(4):  # also when it has ended inside of watchfiles
            watcher.changed.clear()
            assert watcher.changed.wait(5)
    assert watcher.ended == ""


def test_of_several_folders_none_is_singled_out_when_watching_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [tmp_path / name / "masks.py" for name in ("a", "b")]
    for file in files:
        file.parent.mkdir()
        file.touch()

    class Ended(watching.Watcher):
        def _run(self) -> None:
            self.ended = "Too many open files"

    monkeypatch.setattr(watching, "Watcher", Ended)
    monkeypatch.setattr(Session, "_start", lambda _: None)

    def said() -> str:
        with pytest.raises(ZooError) as caught:
            Session(dict.fromkeys(files, get_exercise("masks")), Keys(), quick=True).run()
        return str(caught.value)

    a, b = (file.parent for file in files)
    assert said() == f"Cannot watch '{a}' and '{b}' any longer. Too many open files"
    shutil.rmtree(b)
    assert said() == f"Cannot watch '{b}' any longer. Too many open files"


def test_a_file_is_read_when_it_is_written_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "attention.py"
    file.write_text("")

    def slowly() -> None:
        with file.open("a") as out:
            for _ in range(5):
                out.write("line\n")
                out.flush()
                time.sleep(watching.REST_S / 3)

    writer = threading.Thread(target=slowly)
    writer.start()
    while not file.stat().st_size:
        time.sleep(0.001)
    assert watching.content(file) == b"line\n" * 5
    writer.join()


def test_what_is_no_file_has_no_content_and_no_stamp(tmp_path: Path) -> None:
    assert watching.content(tmp_path) is None
    assert watching.content(tmp_path / "gone") is None
    assert watching.stamp(tmp_path / "gone") is None


# The whole.


@pytest.mark.slow
def test_saves_and_keys(folder: Path) -> None:
    file = folder / "feedforward.py"
    with watch(folder) as terminal:
        assert "\x1b[31mfailed\x1b[0m" in terminal.wait_for(READY)  # in colour
        terminal.press("h")
        terminal.wait_for("hint 1 of 3")
        terminal.press("\x1b[A")  # an arrow: nothing
        terminal.press("hl")
        assert "hint 2 of 3" in terminal.wait_for("exercises in this folder solved.")
        terminal.press("s")
        terminal.wait_for("You have not solved")
        terminal.press("n")
        terminal.wait_for("There is no other unsolved exercise here.")
        file.write_text(SOLUTION)
        terminal.wait_for("Run all tests:")
        update(folder, "feedforward", lambda _: Entry("solved"))
        terminal.press("s")
        terminal.wait_for("class")
        terminal.press("r")
        terminal.wait_for("Press r again")
        assert file.read_text() == SOLUTION
        terminal.press("xr")  # x comes between
        terminal.wait_for("Press r again")
        terminal.press("r")
        terminal.wait_for("with a fresh copy")
        terminal.wait_for(READY)
        assert (file.read_text(), (folder / "feedforward.old.py").read_text()) == (TEMPLATE, SOLUTION)
        terminal.press("q")
        assert (terminal.end(), terminal.modes()) == (0, terminal.before)


@pytest.mark.slow
def test_the_next_exercise_is_watched_from_then_on(folder: Path) -> None:
    (folder / "attention.py").write_text(BROKEN)
    with watch(folder) as terminal:
        assert "--- attention.py" in terminal.wait_for(READY)
        terminal.press("n")
        assert "--- feedforward.py" in terminal.wait_for(READY)
        (folder / "attention.py").write_text("")
        (folder / "feedforward.py").write_text(SOLUTION)
        seen = terminal.wait_for("Run all tests:")
        assert "--- attention.py" not in seen


@pytest.mark.slow
def test_a_file_that_is_half_written_deleted_moved_and_linked(folder: Path) -> None:
    file, kept = folder / "feedforward.py", folder.parent / "kept.py"
    kept.write_text(BROKEN)
    with watch(folder) as terminal:
        terminal.wait_for(READY)
        file.unlink()
        terminal.wait_for("was removed")
        file.write_text(SOLUTION[:200])
        terminal.wait_for(READY)
        (folder / "new").write_text(SOLUTION)
        (folder / "new").replace(file)
        terminal.wait_for("Run all tests:")
        file.unlink()
        file.mkdir()
        terminal.wait_for("was removed")
        file.rmdir()
        file.symlink_to(kept)
        terminal.wait_for(READY)
        kept.write_text(SOLUTION)  # seen by the look each second, the folder being another
        terminal.wait_for("Run all tests:")


@pytest.mark.slow
def test_a_file_of_another_name_is_graded_as_what_is_said_and_never_replaced(folder: Path) -> None:
    (folder / "draft.py").write_text(SOLUTION)
    with watch(folder, "draft.py", "--exercise", "feedforward") as terminal:
        assert "Exercise feedforward" in terminal.wait_for("Run all tests:")
        terminal.wait_for(READY)
        terminal.press("r")
        terminal.wait_for("Only feedforward.py is replaced with a fresh copy")
        terminal.press("r")
        terminal.wait_for("has another name")
        terminal.press("q")
        assert terminal.end() == 0
    assert sorted(path.name for path in folder.iterdir()) == ["draft.py", "feedforward.py"]
    assert (folder / "draft.py").read_text() == SOLUTION


@pytest.mark.slow
def test_a_save_in_the_middle_of_a_grade_begins_a_new_one(folder: Path) -> None:
    file = folder / "feedforward.py"
    file.write_text("while True: pass\n")
    with watch(folder) as terminal:
        terminal.wait_for("--- feedforward.py")
        time.sleep(1)
        file.write_text(SOLUTION)
        assert "--- feedforward.py" in terminal.wait_for("Run all tests:")
        terminal.wait_for(READY)
        assert len(left(folder)) <= 1


def test_a_grade_that_is_interrupted_while_python_starts_says_that_at_most(
    capfd: pytest.CaptureFixture[str],
) -> None:
    begun = time.monotonic()
    assert started(["grade", "nothing.py"]).wait(timeout=60) == 2
    took = time.monotonic() - begun
    capfd.readouterr()
    for share in (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4):  # at the end it is over, or has its say
        grade = started(["grade", "nothing.py"])
        time.sleep(share * took)
        grade.send_signal(signal.SIGINT)
        assert grade.wait(timeout=60) == 130
        out, err = capfd.readouterr()
        assert (out, err) in (("", ""), ("", "\nInterrupted.\n"))  # the second: a fast machine had it started


ENDS = [
    ("q", 0),
    ("\x03", 130),
    (signal.SIGINT, 130),
    (signal.SIGTERM, 128 + signal.SIGTERM),
    (signal.SIGHUP, 128 + signal.SIGHUP),
    ("rm", 2),
]
WAITING = (signal.SIGTERM, "rm")  # while it waits, fewer things can go wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "code", "busy"),
    [(end, code, busy) for end, code in ENDS for busy in (True, False) if busy or end in WAITING],
)
def test_every_end_puts_the_terminal_back_and_leaves_nothing_running(
    folder: Path, end: str | signal.Signals, code: int, busy: bool
) -> None:
    if busy:
        (folder / "feedforward.py").write_text("while True: pass\n")
    with watch(folder) as terminal:
        terminal.wait_for("--- feedforward.py" if busy else READY)
        assert terminal.modes() != terminal.before
        if end == "rm":
            shutil.rmtree(folder)
        elif isinstance(end, str):
            terminal.press(end)
        else:
            terminal.process.send_signal(end)
        assert (terminal.end(), terminal.modes()) == (code, terminal.before)
        assert "Traceback" not in terminal.shown
    assert not left(folder)


@pytest.mark.slow
def test_stopped_and_gone_on_with_it_takes_keys_again(folder: Path) -> None:
    with watch(folder) as terminal:
        terminal.wait_for(READY)
        terminal.process.send_signal(signal.SIGCONT)
        terminal.press("q")
        assert (terminal.end(), terminal.modes()) == (0, terminal.before)


@pytest.mark.slow
@pytest.mark.parametrize("stdin", ["nothing", "pipe"])
def test_without_a_terminal_there_are_no_keys(folder: Path, stdin: str) -> None:
    log = folder.parent / "log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", START, "watch", "--quick"],
            stdin=subprocess.DEVNULL if stdin == "nothing" else subprocess.PIPE,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def wait_for(text: str) -> None:
        until = time.monotonic() + 300
        while text not in log.read_text():
            assert time.monotonic() < until, log.read_text()
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)

    try:
        wait_for("Waiting for")
        (folder / "feedforward.py").write_text(SOLUTION)
        wait_for("Run all tests:")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    text = log.read_text()
    assert process.returncode == 128 + signal.SIGTERM
    assert "\x1b" not in text
    assert READY not in text
    assert not re.search(r"\bTraceback\b", text)


def test_what_cannot_be_watched_is_a_sentence(folder: Path) -> None:
    (folder / "attention.py").mkdir()
    for name, said in (
        ("attention.py", "is not a regular file"),
        ("gone/attention.py", "is not a regular file"),
        ("x.py", "x.py"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", START, "watch", name],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


def test_a_folder_may_go_while_a_grade_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    session = Session({Path("masks.py"): get_exercise("masks")}, Keys(), quick=True)
    home.rmdir()
    assert session._exercise() == ["--exercise", "masks"]  # whose grade says what is missing
