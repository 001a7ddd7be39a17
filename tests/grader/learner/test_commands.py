"""`zoo start`, `progress`, `hint`, `reset`, `solution`, on real files."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from grader.catalog import Exercise, get_exercises
from grader.cli.commands import COMMANDS
from grader.exercises import built_in
from grader.learner.record import FILE_NAME, Entry, read, update
from tests import solution_file
from tests.grader.learner.conftest import Run
from tests.zoo.cli.conftest import ROOT
from zoo.cli.root import LazyCommand, make_cli
from zoo.core.plugins import get_plugins

LIVE = list(get_exercises().values())


def full(_: int) -> None:
    raise OSError(28, "No space left on device")


# All of them.


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_with_an_example(name: str, run: Run) -> None:
    done = run(name, "--help")
    assert done.code == 0
    assert f"\n    zoo {name}" in done.stdout.split("\nOptions:")[0]
    assert max(map(len, done.stdout.splitlines())) <= 80
    lazy = make_cli(get_plugins()).commands[name]
    assert isinstance(lazy, LazyCommand)
    assert lazy.load().name == name


@pytest.mark.parametrize(
    "words",
    [("start", "."), ("progress",), ("hint", "feedforward"), ("reset", "feedforward"),
     ("solution", "feedforward", "--spoil"), ("watch", "--help"), ("grade", "--help"), ("--help",)],
    ids=" ".join,
)  # fmt: skip
def test_nothing_heavy_is_imported(words: tuple[str, ...], tmp_path: Path) -> None:
    for one in LIVE:
        (tmp_path / one.file).touch()
    update(tmp_path, "feedforward", lambda _: Entry("tried", mistakes=("x",), advice="Look."))
    code = (
        "import sys\nfrom zoo.cli import main\ntry:\n    main()\n"
        "finally:\n    print({'torch', 'numpy', 'pytest', 'watchfiles'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ZOO_PLUGINS": "grader"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "set()\n")
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("name", ["hint", "reset", "solution"])
def test_an_unknown_exercise_gets_the_nearest_names(name: str, run: Run) -> None:
    done = run(name, "atention")
    assert (done.code, done.stdout) == (2, "")
    assert "There is no exercise 'atention'. Did you mean attention" in done.err


@pytest.mark.parametrize("words", [("progress",), ("hint",), ("watch",), ("grade",), ("reset", "attention")])
def test_without_exercises_there_is_a_sentence_and_a_command(words: tuple[str, ...], run: Run) -> None:
    done = run(*words)
    assert (done.code, done.stdout) == (2, "")
    assert "There are no exercises" in done.err
    assert "`zoo start DIR`" in done.err


# start


def test_start_with_notebooks_ends_with_the_first_notebook(run: Run) -> None:
    done = run("start", "mine", "--notebooks")
    assert (done.code, done.stderr) == (0, "")
    first = next(iter(get_exercises().values())).file.removesuffix(".py")
    assert f"jupyter lab {first}.ipynb" in done.out.partition("Next")[2]
    assert "zoo watch" not in done.out


def test_progress_says_why_there_are_no_points(run: Run, tmp_path: Path) -> None:
    run("start", "mine")
    update(tmp_path / "mine", "masks", lambda entry: replace(entry, state="tried"))
    assert "Tried without points: graded with --quick, --only or --skip." in run("progress", "mine").out
    update(tmp_path / "mine", "masks", lambda entry: replace(entry, points="5/20"))
    assert "Tried without points" not in run("progress", "mine").out


def test_start_copies_all_exercises_and_says_what_to_do(run: Run, tmp_path: Path) -> None:
    done = run("start", "deep/mine")
    assert (done.code, done.stderr) == (0, "")
    for one in LIVE:
        assert (tmp_path / "deep" / "mine" / one.file).read_text(encoding="utf-8") == one.template_text()
        assert one.title in done.out
    assert f"Copied {len(LIVE)} exercise" in done.out
    assert "cd deep/mine" in done.stdout
    assert f"open {LIVE[0].file} in your editor" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    page = (tmp_path / "deep" / "mine" / "README.md").read_text(encoding="utf-8")
    assert [page.index(f"`{one.file}`") for one in LIVE] == sorted(page.index(f"`{o.file}`") for o in LIVE)
    assert {command for command in COMMANDS if f"    zoo {command}" in page} == {*COMMANDS} - {"start"}


def test_start_never_overwrites(run: Run, tmp_path: Path) -> None:
    mine, elsewhere = tmp_path / "mine", tmp_path / "elsewhere.py"
    mine.mkdir()
    for name in ("attention.py", "README.md", FILE_NAME):
        (mine / name).write_text("# mine\n")
    (mine / "feedforward.py").symlink_to(elsewhere)  # leads nowhere yet
    done = run("start", "mine")
    assert done.code == 0
    assert "Already there, left unchanged: " in done.out
    assert [(mine / n).read_text() for n in ("attention.py", "README.md", FILE_NAME)] == ["# mine\n"] * 3
    assert not elsewhere.exists()
    assert "mine/progress.txt is not a progress file of zoo" in done.err
    before = {one: one.lstat().st_mtime_ns for one in mine.iterdir()}
    done = run("start", "mine")
    assert "Copied" not in done.out
    assert {one: one.lstat().st_mtime_ns for one in mine.iterdir()} == before


def test_start_in_a_folder_that_cannot_be(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    done = run("start", "file")
    assert (done.code, done.err) == (2, "Error: 'file' is a file; expected a new or existing directory.")
    done = run("start", "file/mine")
    assert done.code == 2
    assert "Cannot create directory 'file/mine': Not a directory." in done.err
    monkeypatch.setattr("grader.learner.files.os.fsync", full)
    done = run("start", "mine")
    assert done.code == 2
    assert "cannot be written: No space left on device." in done.err
    assert not list((tmp_path / "mine").iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_in_a_folder_that_may_not_be_written_to_everything_is_still_shown(run: Run, tmp_path: Path) -> None:
    run("start", "mine")
    (tmp_path / "mine").chmod(0o555)
    try:
        assert run("start", "mine").code == 0
        done = run("hint", "mine/attention.py")
        assert (done.code, "hint 1 of 3" in done.out) == (0, True)
        assert "Permission denied" in done.err
        (tmp_path / "mine" / "attention.py").write_text("# mine\n")
        done = run("reset", "mine/attention.py")
        assert (done.code, done.stdout) == (2, "")
        assert (tmp_path / "mine" / "attention.py").read_text() == "# mine\n"
    finally:
        (tmp_path / "mine").chmod(0o755)


def test_a_template_that_is_missing_is_a_sentence_and_the_others_are_copied(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = built_in()

    def offer(*gone: str) -> None:
        found = [replace(one, package="nowhere") if one.name in gone else one for one in shipped]
        monkeypatch.setattr("grader.exercises.built_in", lambda: found)
        get_exercises.cache_clear()

    try:
        offer("attention")
        done = run("start", "mine")
        assert done.code == 1
        assert (
            "Not copied: The template of exercise 'attention' (nowhere.template) is not installed."
            in done.err
        )
        assert not (tmp_path / "mine" / "attention.py").exists()
        assert (tmp_path / "mine" / "feedforward.py").exists()
        offer(*(one.name for one in shipped))
        done = run("start", "none")
        assert (done.code, done.stdout, (tmp_path / "none").exists()) == (2, "", False)
        assert "There are no exercises to copy." in done.err
    finally:
        monkeypatch.undo()
        get_exercises.cache_clear()


# progress


def test_progress_shows_state_points_mistakes_and_what_is_next(
    run: Run, three: list[Exercise], tmp_path: Path
) -> None:
    run("start", "mine")
    update(tmp_path / "mine", "attention", lambda _: Entry("solved", "50/50"))
    update(tmp_path / "mine", "feedforward", lambda _: Entry("tried", "3/15", ("a-b", "c-d", "e-f")))
    (tmp_path / "mine" / "again.py").unlink()
    done = run("progress", "mine")
    assert done.code == 0
    assert done.stdout.startswith("1 of 3 exercises in mine solved.\n")
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["attention.py", "solved", "50/50"] in rows
    assert [">", "feedforward.py", "tried", "3/15", "a-b,", "c-d", "and", "1", "more"] in rows
    assert ["again.py", "new,", "no", "file"] in rows
    assert "Next: zoo grade mine/feedforward.py\nHint: zoo hint mine/feedforward.py\n" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    update(tmp_path / "mine", "feedforward", lambda _: Entry("solved"))
    assert "Missing: again.py. Copy the missing ones with `zoo start mine`." in run("progress", "mine").out


def test_commands_to_paste_are_quoted(run: Run, three: list[Exercise], tmp_path: Path) -> None:
    folder = tmp_path / "my é"
    run("start", "my é")
    done = run("progress", "my é")
    assert "Next: zoo grade 'my é/attention.py'\nHint: zoo hint 'my é/attention.py'\n" in done.stdout
    (folder / "again.py").unlink()
    for one in three[:2]:
        update(folder, one.name, lambda _: Entry("solved"))
    assert "Copy the missing ones with `zoo start 'my é'`." in run("progress", "my é").out


def test_progress_with_a_file_that_is_no_text_and_with_one_that_cannot_be_read(
    run: Run, three: list[Exercise], tmp_path: Path
) -> None:
    (tmp_path / "attention.py").touch()
    line = b"attention: solved; points \xe9\x1b[2J; mistakes \xe9; advice \x1b[2J\xe9\n"
    (tmp_path / FILE_NAME).write_bytes(b"\xff\xfe\x00\n" + line)
    assert "1 of 3" in run("progress").out
    assert "\x1b" not in run("progress", color=True).stdout + run("hint", "attention", color=True).stdout
    (tmp_path / FILE_NAME).unlink()
    (tmp_path / FILE_NAME).mkdir()
    done = run("progress")
    assert (done.code, done.stdout) == (2, "")
    assert "'progress.txt' is not a regular file" in done.err


# hint


def test_hints_climb_from_the_mistake_to_the_component_and_on(
    run: Run, three: list[Exercise], tmp_path: Path
) -> None:
    run("start", ".")
    entry = Entry("tried", "1/9", ("missing-scale",), "MultiHeadAttention", {}, "How long is it?")
    update(tmp_path, "attention", lambda _: entry)
    hints = three[0].all_hints()
    expected = ["How long is it?", *hints["MultiHeadAttention"], *hints["scaled_dot_product_attention"]]
    for text in expected:
        done = run("hint")
        assert done.code == 0
        assert " ".join(text.split()) in done.out
        assert sum(" ".join(other.split()) in done.out for other in expected) == 1
        assert max(map(len, done.stdout.splitlines())) <= 80
    assert "You have seen all hints for attention" in run("hint", "attention.py").out
    everything = run("hint", "attention", "--all").out
    assert all(" ".join(text.split()) in everything for text in expected)


def test_hints_begin_with_the_place_of_the_last_grade(
    run: Run, three: list[Exercise], tmp_path: Path
) -> None:
    run("start", ".")
    entry = Entry("tried", "1/9", ("missing-scale",), "MultiHeadAttention", {}, "How long is it?")
    update(tmp_path, "attention", lambda _: replace(entry, place="14 MultiHeadAttention.forward"))
    shown = [run("hint").out for _ in range(3)]
    assert "Look at MultiHeadAttention.forward" in shown[0]
    assert "14" not in shown[0]
    assert "Look at line 14" in shown[1]
    assert "How long is it?" in shown[2]
    update(tmp_path, "attention", lambda _: replace(entry, place="3"))  # outside of any function
    assert "Look at line 3" in run("hint").out
    for odd in ("", "x y", "-1 f", "² f"):
        update(tmp_path, "attention", lambda _, odd=odd: replace(entry, place=odd))  # type: ignore[misc]
        assert "How long is it?" in run("hint").out


@pytest.mark.parametrize("exercise", LIVE, ids=lambda one: one.name)
def test_every_exercise_has_hints_for_each_component(exercise: Exercise, run: Run) -> None:
    for component in exercise.components:
        levels = len(exercise.all_hints()[component])
        assert levels == 3
        for level in range(1, levels + 1):
            assert f"{component} (hint {level} of {levels})" in run("hint", exercise.name, "--all").out


def test_a_hint_without_a_folder_is_the_first_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    for _ in range(2):
        done = run("hint", "attention")
        assert "hint 1 of 3" in done.out
        assert "This folder has no progress file" in done.out
    assert not list(tmp_path.iterdir())


def test_a_hint_is_shown_also_where_nothing_can_be_noted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("start", ".")
    monkeypatch.setattr("grader.learner.files.os.fsync", full)
    done = run("hint", "attention")
    assert (done.code, "hint 1 of 3" in done.out) == (0, True)
    assert "Your progress was not saved." in done.err


def test_hints_and_resets_create_no_progress_file(run: Run, three: list[Exercise], tmp_path: Path) -> None:
    (tmp_path / "attention.py").write_text("# mine\n")
    assert "This folder has no progress file" in run("hint", "attention").out
    assert run("reset", "attention").code == 0
    assert {one.name for one in tmp_path.iterdir()} == {"attention.py", "attention.old.py"}


# reset


def test_reset_keeps_every_old_file(run: Run, tmp_path: Path) -> None:
    run("start", ".")
    update(tmp_path, "attention", lambda _: Entry("solved", "50/50", hints={"MultiHeadAttention": 2}))
    template = (tmp_path / "attention.py").read_bytes()
    assert "is already a fresh copy" in run("reset", "attention").out
    kept = ["attention.old.py", "attention.old-2.py", "attention.old-3.py"]
    for number, name in enumerate(kept):
        (tmp_path / "attention.py").write_bytes(b"# mine %d \xff\n" % number)
        done = run("reset", "attention")
        assert done.code == 0
        assert done.out == f"Replaced attention.py with a fresh copy. Your version is now {name}."
        assert (tmp_path / "attention.py").read_bytes() == template
    assert [(tmp_path / n).read_bytes() for n in kept] == [b"# mine %d \xff\n" % n for n in range(3)]
    assert read(tmp_path).entry("attention") == Entry()


def test_reset_of_a_link_leaves_what_it_leads_to(run: Run, tmp_path: Path) -> None:
    run("start", "mine")
    kept = tmp_path / "kept.py"
    kept.write_text("# kept\n")
    (tmp_path / "mine" / "attention.py").unlink()
    (tmp_path / "mine" / "attention.py").symlink_to(kept)
    assert run("reset", "mine/attention.py").code == 0
    assert kept.read_text() == (tmp_path / "mine" / "attention.old.py").read_text() == "# kept\n"
    assert not (tmp_path / "mine" / "attention.py").is_symlink()


def test_reset_of_what_is_missing_or_no_file(run: Run, tmp_path: Path) -> None:
    run("start", ".")
    (tmp_path / "attention.py").unlink()
    assert run("reset", "attention").out == "Created attention.py."
    (tmp_path / "attention.py").unlink()
    (tmp_path / "attention.py").mkdir()
    done = run("reset", "attention")
    assert (done.code, done.stdout) == (2, "")
    assert "'attention.py' cannot be read, so it was not changed" in done.err


def test_reset_on_a_full_disk_changes_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("start", ".")
    (tmp_path / "attention.py").write_text("# mine\n")
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("grader.learner.files.os.fsync", full)
    done = run("reset", "attention")
    assert (done.code, done.stdout) == (2, "")
    assert (tmp_path / "attention.py").read_text() == "# mine\n"
    assert sorted(tmp_path.iterdir()) == before


# solution


def test_a_solution_is_shown_after_solving_or_when_asked_for(run: Run, tmp_path: Path) -> None:
    run("start", ".")
    done = run("solution", "attention")
    assert (done.code, done.stdout) == (2, "")
    assert "You have not solved attention yet" in done.err
    text = solution_file("attention").read_text(encoding="utf-8")
    assert run("solution", "attention", "--spoil").stdout == text
    update(tmp_path, "attention", lambda _: Entry("solved"))
    assert run("solution", "attention").stdout == run("solution", "attention.py").stdout == text


def test_a_solution_that_is_not_installed_is_a_sentence(
    run: Run, three: list[Exercise], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = replace(three[0], package="grader.nowhere")
    monkeypatch.setattr("grader.exercises.built_in", lambda: [lost])
    get_exercises.cache_clear()
    done = run("solution", "attention", "--spoil")
    assert (done.code, done.stdout) == (2, "")
    assert "(grader.nowhere.solution) is not installed" in done.err
