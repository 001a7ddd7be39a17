"""The progress file: read, written whole, by several at once, and never at the cost of what is in it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.learner import files, record
from grader.learner.record import FILE_NAME, HEADER, Entry, Record, is_record, read, update
from tests.zoo.cli.conftest import ROOT
from zoo.core.errors import ZooError

FULL = Entry(
    state="tried",
    points="12/50",
    mistakes=("missing-scale", "softmax-over-queries"),
    component="MultiHeadAttention",
    hints={"missing-scale": 1, "MultiHeadAttention": 2},
    advice="What happens to a dot product; what to its variance?",
)
NAMES = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True)
ENTRIES = st.builds(
    Entry,
    state=st.sampled_from(["new", "tried", "solved"]),
    points=st.sampled_from(["", "0/50", "12.5/50"]),
    mistakes=st.lists(NAMES, max_size=3).map(tuple),
    component=st.sampled_from(["", "FeedForward"]),
    hints=st.dictionaries(NAMES, st.integers(1, 9), max_size=3),
    advice=st.text(max_size=40).map(lambda text: " ".join(text.encode("utf-8", "ignore").decode().split())),
)


def content(folder: Path) -> bytes:
    return (folder / FILE_NAME).read_bytes()


def test_a_line_is_one_that_people_can_read() -> None:
    assert FULL.line("attention") == (
        "attention: tried; points 12/50; at MultiHeadAttention; mistakes missing-scale, softmax-over-queries; "
        "hints missing-scale 1, MultiHeadAttention 2; "
        "advice What happens to a dot product; what to its variance?"
    )
    assert Entry().line("masks") == "masks: new"


@given(st.dictionaries(NAMES, ENTRIES, max_size=4))
def test_what_is_written_is_read_again(entries: dict[str, Entry]) -> None:
    made = Record()
    for name, entry in entries.items():
        made.set(name, entry)
    again = Record(made.content().decode().split("\n")[:-1])
    assert {name: again.entry(name) for name in entries} == entries
    assert again.content() == made.content()


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), max_size=6))
def test_lines_that_mean_nothing_stay_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]
) -> None:
    folder = tmp_path_factory.mktemp("folder")
    old = b"".join(line + b"\n" for line in lines)
    (folder / FILE_NAME).write_bytes(old)
    update(folder, "attention-of-mine", lambda _: FULL)
    assert content(folder) == old + FULL.line("attention-of-mine").encode() + b"\n"
    update(folder, "attention-of-mine", lambda _: Entry())
    assert content(folder) == old + b"attention-of-mine: new\n"


def test_words_parts_and_exercises_of_others_are_kept(tmp_path: Path) -> None:
    text = (
        "my notes\n\nattention: tried; points 3/50; mood good; mistakes a\n"
        "of-a-plugin: solved; points 1/1\nattention: solved\nmasks: halfway\n"
    )
    (tmp_path / FILE_NAME).write_text(text)
    found = update(tmp_path, "attention", lambda entry: replace(entry, points="4/50"))
    assert found.more == ("mood good",)
    expected = text.replace("points 3/50; mood good; mistakes a", "points 4/50; mistakes a; mood good")
    assert content(tmp_path).decode() == expected  # the second line on attention is nobody's
    assert read(tmp_path).entry("of-a-plugin").state == "solved"
    assert read(tmp_path).entry("masks") == Entry()


def test_a_file_without_a_last_line_end_and_with_those_of_windows(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"notes\r\nattention: solved; points 5/5\r\nend")
    assert read(tmp_path).entry("attention") == Entry("solved", "5/5")
    update(tmp_path, "masks", lambda _: Entry("tried"))
    assert content(tmp_path) == b"notes\r\nattention: solved; points 5/5\r\nend\nmasks: tried\n"


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    update(tmp_path, "masks", lambda _: Entry("tried"))
    before = (tmp_path / FILE_NAME).stat()
    update(tmp_path, "masks", lambda entry: entry)
    after = (tmp_path / FILE_NAME).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)  # it may be read


def test_a_new_file_says_what_it_is(tmp_path: Path) -> None:
    assert read(tmp_path).empty()
    assert not is_record(tmp_path / FILE_NAME)
    update(tmp_path, "masks", lambda _: Entry("tried", "1/9"))
    assert content(tmp_path).decode().splitlines() == [*HEADER, "masks: tried; points 1/9"]
    assert is_record(tmp_path / FILE_NAME)


def test_somebodys_file_of_the_same_name_is_no_record(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_text("Monday: went for a walk\n")
    assert not is_record(tmp_path / FILE_NAME)


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from grader.learner.record import update
name, folder = sys.argv[1], Path(sys.argv[2])
count = lambda entry: replace(entry, hints={"n": entry.hints.get("n", 0) + 1})
for _ in range(40):
    update(folder, name, count)
    update(folder, "both", count)
"""


def script(code: str, *arguments: object) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", code, *(str(one) for one in arguments)]
    return subprocess.Popen(words, cwd=ROOT, stderr=subprocess.PIPE)


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [script(WRITER, name, tmp_path) for name in ("first", "second")]
    for writer in writers:
        _, said = writer.communicate(timeout=120)
        assert (writer.returncode, said) == (0, b"")
    found = read(tmp_path)
    assert [found.entry(name).hints["n"] for name in ("first", "second", "both")] == [40, 40, 80]
    assert len(content(tmp_path).splitlines()) == len(HEADER) + 3


def test_killed_in_the_middle_of_writing_the_old_file_stands(tmp_path: Path) -> None:
    update(tmp_path, "masks", lambda _: Entry("solved", "9/9"))
    before = content(tmp_path)
    kill = "import os\nos.fsync = lambda _: os.kill(os.getpid(), 9)\n"
    killed = script(kill + WRITER, "masks", tmp_path)
    killed.communicate(timeout=60)
    assert (killed.returncode, content(tmp_path)) == (-9, before)
    update(tmp_path, "masks", lambda _: Entry("tried"))  # what the dead one held is free
    assert read(tmp_path).entry("masks").state == "tried"


def test_a_full_disk_is_a_sentence_and_the_old_file_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update(tmp_path, "masks", lambda _: Entry("solved", "9/9"))
    before = content(tmp_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(ZooError, match=r"progress\.txt' cannot be written: No space left on device\."):
        update(tmp_path, "masks", lambda _: Entry())
    assert content(tmp_path) == before
    assert {one.name for one in tmp_path.iterdir()} <= {FILE_NAME, f".{FILE_NAME}.lock"}


def test_somebody_who_holds_the_file_too_long_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import filelock

    monkeypatch.setattr(record, "PATIENCE", 0.01)
    with filelock.FileLock(tmp_path / f".{FILE_NAME}.lock"), pytest.raises(ZooError, match="has locked it"):
        update(tmp_path, "masks", lambda _: Entry())


def test_what_is_no_progress_file_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    path.mkdir()
    with pytest.raises(ZooError, match="is not a regular file"):
        read(tmp_path)
    with pytest.raises(ZooError, match="is not a regular file"):
        update(tmp_path, "masks", lambda entry: entry)
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(ZooError, match="is not a regular file"):
        read(tmp_path)
    path.unlink()
    path.write_bytes(b"x" * (record.MAX_SIZE + 1))
    with pytest.raises(ZooError, match="too large"):
        read(tmp_path)


def test_a_folder_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "gone").touch()
    with pytest.raises(ZooError, match="cannot be written"):
        update(tmp_path / "gone" / "far", "masks", lambda entry: replace(entry, state="tried"))


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "exercises").mkdir()
    (tmp_path / "exercises" / FILE_NAME).symlink_to(tmp_path / "kept" / "mine.txt")
    update(tmp_path / "exercises", "masks", lambda _: Entry("tried"))
    assert (tmp_path / "exercises" / FILE_NAME).is_symlink()
    assert "masks: tried" in (tmp_path / "kept" / "mine.txt").read_text()


def test_permissions_stay(tmp_path: Path) -> None:
    update(tmp_path, "masks", lambda _: Entry("tried"))
    (tmp_path / FILE_NAME).chmod(0o664)
    update(tmp_path, "masks", lambda _: Entry("solved"))
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o664
