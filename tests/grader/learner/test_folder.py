"""Where the exercises are, and which is the current one."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.catalog import Exercise, exercise_for, get_exercises
from grader.learner.folder import Folder, find_folder, folder_of, locate, need_folder, short
from grader.learner.record import FILE_NAME, HEADER, Entry, update
from zoo.core.errors import UnknownNameError, ZooError


@pytest.fixture(autouse=True)
def _there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def make(folder: Path, *names: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return folder


def test_the_current_directory_its_exercises_and_those_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = make(tmp_path / "a" / "b")
    make(tmp_path / "exercises", "attention.py")
    assert find_folder() == Folder(Path("exercises"))
    monkeypatch.chdir(deep)
    assert find_folder() == Folder(Path("../../exercises"))
    make(tmp_path / "a" / "b" / "exercises", "attention.py")
    assert find_folder() == Folder(Path("exercises"))
    make(deep, "attention.py")
    assert find_folder() == Folder(Path())


def test_a_folder_above_counts_by_its_record_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make(tmp_path / "a" / "b"))
    make(tmp_path / "a", "attention.py", FILE_NAME)
    assert find_folder() is None
    (tmp_path / "a" / FILE_NAME).write_text(HEADER[0])
    assert find_folder() == Folder(Path(".."))


def test_a_package_is_no_learners_folder(tmp_path: Path) -> None:
    make(tmp_path, "attention.py", "__init__.py")
    assert find_folder() is None
    assert folder_of(Path("attention.py")) is None


@pytest.mark.parametrize("what", ["directory", "nothing", "loop"])
def test_what_is_no_file_is_no_exercise(tmp_path: Path, what: str) -> None:
    if what == "directory":
        (tmp_path / "attention.py").mkdir()
    elif what == "loop":
        (tmp_path / "attention.py").symlink_to("attention.py")
    assert find_folder() is None
    with pytest.raises(ZooError, match="There are no exercises in the current directory"):
        need_folder()


def test_a_current_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = make(tmp_path / "gone")
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert find_folder() is None
    assert short(tmp_path / "a") == tmp_path / "a"


def test_the_current_exercise_is_the_first_that_is_here_and_not_solved(
    tmp_path: Path, three: list[Exercise]
) -> None:
    folder = Folder(make(tmp_path, *(one.file for one in three)))
    assert folder.current() == three[0]
    update(tmp_path, three[0].name, lambda _: Entry("solved"))
    assert folder.current() == three[1]
    (tmp_path / three[1].file).unlink()
    assert folder.current() == three[2]
    update(tmp_path, three[2].name, lambda _: Entry("solved"))
    with pytest.raises(ZooError, match=rf"Missing: {three[1].file}\. .*`zoo start"):
        folder.current()
    update(tmp_path, three[1].name, lambda _: Entry("solved"))
    (tmp_path / three[1].file).touch()
    with pytest.raises(ZooError, match="All exercises are solved"):
        folder.current()


def test_every_registered_exercise_is_current_once(tmp_path: Path) -> None:
    exercises = list(get_exercises().values())
    folder = Folder(make(tmp_path, *(one.file for one in exercises)))
    for one in exercises:
        assert folder.current() == one
        update(tmp_path, one.name, lambda _: Entry("solved"))


def test_what_an_argument_means(tmp_path: Path, three: list[Exercise]) -> None:
    assert locate("attention") == (None, three[0])
    make(tmp_path / "mine", "attention.py", "feedforward.py")
    assert locate("mine/attention.py") == (Folder(Path("mine")), three[0])
    assert locate("feedforward.py") == (None, three[1])
    make(tmp_path / "exercises", "feedforward.py")
    assert locate("feedforward.py") == (Folder(Path("exercises")), three[1])
    assert locate("attention") == (Folder(Path("exercises")), three[0])
    assert locate(None) == (Folder(Path("exercises")), three[1])
    with pytest.raises(UnknownNameError, match="Did you mean attention"):
        locate("atention")
    with pytest.raises(ZooError, match=r"Cannot infer the exercise .* 'mine/other\.py'"):
        locate("mine/other.py")


def test_a_file_is_told_by_its_name_through_a_link(tmp_path: Path, three: list[Exercise]) -> None:
    make(tmp_path / "kept", "anything.py")
    make(tmp_path / "mine")
    (tmp_path / "mine" / "attention.py").symlink_to(tmp_path / "kept" / "anything.py")
    assert locate("mine/attention.py") == (Folder(Path("mine")), exercise_for(Path("attention.py")))
