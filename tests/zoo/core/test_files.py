"""Files written whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors, write_whole


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    real, link = tmp_path / "there" / "real", tmp_path / "link"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert sorted(path.name for path in real.parent.iterdir()) == ["real"]


def test_a_link_to_nothing_makes_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "new")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "new").read_bytes() == b"new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
    write_whole(pipe, b"through")
    assert reader.communicate(timeout=600)[0] == b"through"
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/dev/stdout").is_symlink(), reason="this system has no /dev/stdout")
def test_standard_output_is_left_where_it_is(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = "from pathlib import Path; from zoo.core.files import write_whole; write_whole(Path('/dev/stdout'), b'all')"
    with out.open("wb") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert out.read_bytes() == b"all"
    assert Path("/dev/stdout").is_symlink()


def test_an_error_on_the_way_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ZooError, match="the disk is full"), reporting_os_errors("It cannot be written"):
        write_whole(file, b"new, and longer")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with (
        pytest.raises(ZooError, match="cannot be written: it is a directory"),
        reporting_os_errors("It cannot be written"),
    ):
        write_whole(tmp_path, b"")
