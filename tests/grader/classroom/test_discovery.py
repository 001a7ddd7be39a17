"""Submissions in the layouts that people have, and what is none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from grader.catalog import get_exercises
from grader.classroom.discovery import Discovery, describe, discover
from grader.classroom.layouts import attempt_in, attempt_of, parse_time, read_metadata
from tests.grader.classroom.conftest import put
from zoo.core.errors import ZooError


def search(folder: Path, exercise: str = "") -> Discovery:
    return discover(folder, get_exercises(), exercise)


def found(folder: Path, exercise: str = "") -> list[tuple[str, str, str]]:
    return [(one.layout, one.owner.name, one.exercise) for one in search(folder, exercise).submissions]


LAYOUTS = {
    "a folder per student": ("anna/attention.py", ("folder", "anna", "attention")),
    "with exercises in it": ("anna/exercises/kv_cache.py", ("folder", "anna", "kv_cache")),
    "a folder per exercise": ("masks/anna.py", ("flat", "anna", "masks")),
    "both": ("masks/anna/my_file.py", ("folder", "anna", "masks")),
    "moodle": ("Anna B. Lee_123_assignsubmission_file_/masks.py", ("moodle", "Anna B. Lee", "masks")),
    "moodle, newer": ("Anna Lee_123_assignsubmission_file/norm.py", ("moodle", "Anna Lee", "norm")),
    "moodle, no folders": (
        "Anna Lee_123_assignsubmission_file_kv_cache.py",
        ("moodle", "Anna Lee", "kv_cache"),
    ),
    "canvas": ("leeanna_12_3456_masks.py", ("canvas", "leeanna", "masks")),
    "canvas, again": ("leeanna_12_3456_kv_cache-2.py", ("canvas", "leeanna", "kv_cache")),
    "flat": ("anna_lee_kv_cache.py", ("flat", "anna_lee", "kv_cache")),
    "flat, exercise first": ("masks-anna.py", ("flat", "anna", "masks")),
    "flat, downloaded twice": ("anna_masks (2).py", ("flat", "anna", "masks")),
    "gradescope without its file": ("submission_77/masks.py", ("gradescope", "submission_77", "masks")),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout(tmp_path: Path, name: str) -> None:
    path, expected = LAYOUTS[name]
    put(tmp_path, {path: "x = 1"})
    assert found(tmp_path) == [expected]


def test_ids_and_late_marks_of_platforms(tmp_path: Path) -> None:
    put(tmp_path, {"leeanna_LATE_12_3456_masks-1.py": "", "A B_99_assignsubmission_file_/masks.py": ""})
    moodle, canvas = search(tmp_path).submissions
    assert moodle.owner.ids == {"moodle": "99"}
    assert (canvas.owner.ids, canvas.marked_late) == ({"canvas": "12"}, True)


METADATA = """---
submission_5:
  :submitters:
  - :name: "Anna \\"A\\" Lee"
    :sid: '0042'
    :email: anna@uni.example
  - :name: Ben
    :sid:
    :email: ben@uni.example
  :created_at: 2026-03-01 23:10:00.123456789 Z
  :score: 3.0
  :results:
    tests:
    - name: "no name: of a student"
  :history:
  - :id: 4
    :created_at: 2026-02-01 00:00:00.0 Z
submission_6:
  :submitters:
  - :name: Chen
    :sid: '7'
    :email: null
  :created_at: 2026-03-02 01:00:00 +0100
"""


def test_gradescope_with_two_submitters(tmp_path: Path) -> None:
    put(
        tmp_path,
        {"e/submission_metadata.yml": METADATA, "e/submission_5/masks.py": "", "e/submission_6/masks.py": ""},
    )
    anna, ben, chen = search(tmp_path).submissions
    assert (anna.owner.name, anna.owner.ids, anna.owner.email) == (
        'Anna "A" Lee',
        {"gradescope": "0042"},
        "anna@uni.example",
    )
    assert (ben.owner.name, ben.owner.ids) == ("Ben", {})
    assert anna.submitted_at == parse_time("2026-03-01T23:10:00.123456+00:00")
    assert (chen.submitted_at, chen.owner.email) == (parse_time("2026-03-02T00:00:00+00:00"), "")


def test_metadata_that_is_none() -> None:
    assert read_metadata("a: [1, 2\n :x: {}\n- :name: y\n\0") == {}


@pytest.mark.parametrize("packed", [False, True])
def test_clones_of_github_classroom(tmp_path: Path, packed: bool) -> None:
    for user in ("anna", "annika"):
        clone = put(tmp_path / f"week-3-{user}", {"masks.py": "x = 1"})
        when = {"GIT_COMMITTER_DATE": "1750000000 +0200", "GIT_AUTHOR_DATE": "1700000000 +0000"}
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", **when}
        commands = ["init -q", "add .", "-c user.name=x -c user.email=y commit -q -m z", *["gc -q"] * packed]
        for command in commands:
            subprocess.run(["git", *command.split()], cwd=clone, check=True, env={**os.environ, **quiet})
    first, second = search(tmp_path).submissions
    assert (first.owner.name, second.owner.name) == ("anna", "annika")
    assert (first.layout, first.submitted_at, first.time_source, len(first.commit)) == (
        "github",
        1750000000,
        "commit",
        40,
    )


def test_nbgrader(tmp_path: Path) -> None:
    put(
        tmp_path,
        {
            "submitted/anna/hw1/masks.py": "",
            "submitted/anna/hw1/timestamp.txt": "2026-03-01 10:00:00.5 UTC\n",
        },
    )
    (one,) = search(tmp_path).submissions
    assert (one.layout, one.owner.name, one.time_source) == ("nbgrader", "anna", "timestamp.txt")
    assert one.submitted_at == parse_time("2026-03-01T10:00:00.500000+00:00")


INSIDE = {
    "named as by Canvas": {"ben_42_7_masks.py": ""},
    "two, named as by Canvas": {"ben_42_7_masks.py": "", "chen_43_8_masks.py": ""},
    "named as by Moodle": {"Ben Moe_9_assignsubmission_file_/masks.py": ""},
    "named as by Moodle, no folder": {"x/Ben Moe_9_assignsubmission_file_masks.py": ""},
    "metadata": {
        "submission_metadata.yml": "submission_1:\n  :submitters:\n  - :name: Ben\n    :sid: '42'\n",
        "submission_1/masks.py": "",
    },
    "deeper metadata": {
        "x/submission_metadata.yml": "submission_1:\n  :submitters:\n  - :name: Ben\n    :sid: '42'\n",
        "x/submission_1/masks.py": "",
    },
    "online text": {"Ben_9_assignsubmission_onlinetext_/masks.py": ""},
    "a clone": {"ben/masks.py": "", "ben/.git/HEAD": ""},
    "two clones": {"ben/masks.py": "", "ben/.git/HEAD": "", "chen/masks.py": "", "chen/.git/HEAD": ""},
    "a time": {"x/ben/hw/masks.py": "", "x/ben/hw/timestamp.txt": "2020-01-01 10:00:00 UTC"},
}
OUTER = {
    "folder": ("anna", "anna", {"ben/masks.py": ""}),
    "all in submissions": ("submissions/anna", "anna", {"submissions/ben/masks.py": ""}),
    "moodle": (
        "Anna_1_assignsubmission_file_",
        "Anna",
        {"Ben_2_assignsubmission_file_/masks.py": ""},
    ),
    "gradescope": ("submission_5", "Anna", {"submission_6/masks.py": ""}),
    "github": ("hw-anna", "anna", {"hw-ben/masks.py": "", "hw-ben/.git/HEAD": "", "hw-anna/.git/HEAD": ""}),
    "nbgrader": ("submitted/anna/hw", "anna", {"submitted/anna/hw/timestamp.txt": "2026-03-01 10:00:00 UTC"}),
}


@pytest.mark.parametrize("outer", OUTER)
@pytest.mark.parametrize("inside", INSIDE)
def test_the_outermost_name_decides_whose_a_file_is(tmp_path: Path, outer: str, inside: str) -> None:
    folder, name, others = OUTER[outer]
    put(tmp_path, others)
    if outer == "gradescope":
        metadata = "submission_5:\n  :submitters:\n  - :name: Anna\n    :sid: '41'\n"
        put(tmp_path, {"submission_metadata.yml": metadata})
    put(tmp_path / folder, INSIDE[inside])
    done = search(tmp_path)
    mine = [one for one in done.submissions if one.path.startswith(folder)]
    assert len(mine) == sum(one.endswith(".py") for one in INSIDE[inside])
    assert {one.owner.name for one in mine} == {name}
    assert {one.layout for one in mine} == {outer if outer in done.layouts() else "folder"}
    assert not any("42" in one.owner.ids.values() for one in mine)
    assert "timestamp.txt" not in {one.time_source for one in mine} or outer == "nbgrader"
    believed = folder.removesuffix("/hw")
    assert [one for one in done.notes if believed in one] == [
        f"'{one.path}' belongs to '{believed}': the outermost name decides whose a file is." for one in mine
    ]


@pytest.mark.parametrize("inside", [one for one in INSIDE if not one.startswith(("two", "metadata"))])
def test_it_decides_for_the_only_student_too(tmp_path: Path, inside: str) -> None:
    put(tmp_path / "anna", INSIDE[inside])
    assert {name for _layout, name, _exercise in found(tmp_path)} == {"anna"}


METADATA_OF_TWO = (
    "submission_1:\n  :submitters:\n  - :name: Anna\nsubmission_2:\n  :submitters:\n  - :name: Ben\n"
)
DOWNLOADS = {
    "canvas": {"leeanna_1_2_masks.py": "", "moeben_2_3_masks.py": ""},
    "moodle": {"Anna_1_assignsubmission_file_/masks.py": "", "Ben_2_assignsubmission_file_masks.py": ""},
    "gradescope": {
        "submission_metadata.yml": METADATA_OF_TWO,
        "submission_1/masks.py": "",
        "submission_2/norm.py": "",
    },
    "github": {"anna/masks.py": "", "anna/.git/HEAD": "", "ben/x/masks.py": "", "ben/.git/HEAD": ""},
    "nbgrader": {
        "submitted/anna/hw/masks.py": "",
        "submitted/anna/hw/timestamp.txt": "",
        "submitted/ben/hw/masks.py": "",
        "submitted/ben/hw/timestamp.txt": "",
    },
}


@pytest.mark.parametrize("layout", DOWNLOADS)
@pytest.mark.parametrize("weeks", [("",), ("week3/",), ("week3/", "submissions/week4/masks/"), ("masks/",)])
def test_downloads_in_folders(tmp_path: Path, layout: str, weeks: tuple[str, ...]) -> None:
    for week in weeks:
        put(tmp_path / week, DOWNLOADS[layout])
    put(tmp_path, {"notes/week.txt": ""})
    done = search(tmp_path)
    assert done.layouts() == {layout: 2 * len(weeks)}
    names = {one.owner.name.casefold() for one in done.submissions}
    assert names == ({"leeanna", "moeben"} if layout == "canvas" else {"anna", "ben"})
    assert done.notes == ()


def test_a_week_with_one_late_student(tmp_path: Path) -> None:
    put(tmp_path, {"week/a_1_2_masks.py": "", "week/b_2_3_masks.py": "", "late/c_3_4_masks.py": ""})
    assert [name for _layout, name, _exercise in found(tmp_path)] == ["c", "a", "b"]
    put(tmp_path / "one" / "assignment_7_export", {**DOWNLOADS["gradescope"]})
    (tmp_path / "one" / "assignment_7_export" / "submission_2" / "norm.py").unlink()
    assert found(tmp_path / "one") == [("gradescope", "Anna", "masks")]


def test_clones_in_each_folder_are_of_the_folders_students(tmp_path: Path) -> None:
    for student in ("anna", "ben"):
        put(tmp_path / student / "zoo", {"masks.py": "", ".git/HEAD": ""})
    assert [name for _layout, name, _exercise in found(tmp_path)] == ["anna", "ben"]


def test_a_huge_object_of_git_and_huge_metadata(tmp_path: Path) -> None:
    """They are sparse here; a test that reads them whole is out of memory."""
    name = "ab" * 20
    put(tmp_path / "anna", {"masks.py": "", ".git/HEAD": name})
    (tmp_path / "anna/.git/objects/ab").mkdir(parents=True)
    put(tmp_path, {"submission_5/masks.py": ""})
    for file in (f"anna/.git/objects/ab/{name[2:]}", "submission_metadata.yml"):
        with (tmp_path / file).open("wb") as opened:
            opened.truncate(1 << 40)
    done = search(tmp_path)
    assert [(one.owner.name, one.commit) for one in done.submissions] == [
        ("anna", name),
        ("submission_5", ""),
    ]
    assert done.unplaced == (
        ("submission_metadata.yml", "has more than 32 MB, so no student is read from it"),
    )


def test_an_exercise_named_for_all(tmp_path: Path) -> None:
    put(tmp_path, {"anna/main.py": "", "ben.py": "", "chen/norm.py": ""})
    assert {(name, exercise) for _layout, name, exercise in found(tmp_path, "masks")} == {
        ("anna", "masks"),
        ("ben", "masks"),
        ("chen", "masks"),
    }


def test_what_is_no_submission_is_named_with_its_reason(tmp_path: Path) -> None:
    outside = put(tmp_path / "outside", {"masks.py": "secret"})
    folder = put(
        tmp_path / "in",
        {
            "anna/notes.pdf": "",
            "anna/all.zip": "",
            "anna/helper.py": "",
            "masks.py": "",
            "A_1_assignsubmission_onlinetext_/onlinetext.html": "",
            "anna/__pycache__/masks.py": "",
            "__MACOSX/anna/masks.py": "",
        },
    )
    (folder / "ben").mkdir()
    (folder / "ben" / "masks.py").symlink_to(outside / "masks.py")
    (folder / "chen").symlink_to(outside)
    os.mkfifo(folder / "anna" / "norm.py")
    done = search(folder)
    assert done.submissions == ()
    reasons = dict(done.unplaced)
    assert reasons.keys() == {
        "anna/notes.pdf",
        "anna/all.zip",
        "anna/helper.py",
        "masks.py",
        "A_1_assignsubmission_onlinetext_/onlinetext.html",
        "ben/masks.py",
        "chen",
        "anna/norm.py",
    }
    assert "symbolic link" in reasons["chen"]
    assert "symbolic link" in reasons["ben/masks.py"]
    assert "unpack" in reasons["anna/all.zip"]
    assert "regular file" in reasons["anna/norm.py"]
    assert describe(done) == "No submission was found."


def test_hostile_names_are_safe_to_print(tmp_path: Path) -> None:
    names = [
        b"..\\..\\x_masks.py",
        b"\x1b[31m\nred_masks.py",
        b"\xff\xfe_masks.py",
        "\u202egnp_masks.py".encode(),
    ]
    for name in names:
        Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).write_text("x = 1")
    done = search(tmp_path).submissions
    assert len(done) == len(names)
    for one in done:
        assert one.path.isprintable()
        one.path.encode()


def test_a_huge_file_is_a_submission_without_its_content(tmp_path: Path) -> None:
    for student, size in (("anna", 100 << 20), ("ben", (100 << 20) + 1)):
        (tmp_path / student).mkdir()
        with (tmp_path / student / "masks.py").open("wb") as file:
            file.truncate(size)
    anna, ben = search(tmp_path).submissions
    assert (anna.source, anna.size) == (None, 100 << 20)
    assert anna.sha256 != ben.sha256


def test_folders_without_end(tmp_path: Path) -> None:
    put(tmp_path, {"a/" * 14 + "masks.py": ""})
    assert "deeper" in search(tmp_path).unplaced[0][1]


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ZooError, match="no folder"):
        search(tmp_path / "missing")
    (tmp_path / "all.zip").touch()
    with pytest.raises(ZooError, match="Unpack"):
        search(tmp_path / "all.zip")


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("anna/masks.py", 0),
        ("anna/attempt12/masks.py", 12),
        ("lee_1_2_masks-3.py", 3),
        ("submission_4567/masks.py", 4567),
    ],
)
def test_numbers_in_paths(path: str, number: int) -> None:
    assert attempt_in(path) == number


@pytest.mark.parametrize(
    ("stem", "expected"),
    [
        ("masks", ("masks", 0)),
        ("masks-2", ("masks", 2)),
        ("masks (3)", ("masks", 3)),
        ("kv_cache", ("kv_cache", 0)),
    ],
)
def test_numbers_of_attempts(stem: str, expected: tuple[str, int]) -> None:
    assert attempt_of(stem) == expected
