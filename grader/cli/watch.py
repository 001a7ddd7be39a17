"""`zoo watch [FILE]`."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import click

from grader.catalog import Exercise, exercise_for, get_exercises
from grader.cli.exercises import overview
from grader.cli.hint import show_hint
from grader.cli.keys import GONE, Keys
from grader.cli.reset import show_reset
from grader.cli.solution import show_solution
from grader.learner import record, watching
from grader.learner.files import is_file
from grader.learner.folder import Folder, folder_of, need_folder
from zoo.cli.root import report
from zoo.cli.text import bold, dim, wrapped
from zoo.core.errors import ZooError

ZOO = [sys.executable, "-c", "from zoo.cli import main; main()"]
TICK_S = 0.1
KEYS = "h hint, l list, n next, r reset, s solution, q quit"


@click.command()
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--quick", is_flag=True, help="Skip the training test (an exercise is not marked solved without it)."
)
def watch(file: Path | None, quick: bool) -> None:
    """Grade FILE on every save (default: the current exercise).

    Keys: h next hint, l list of exercises, n next exercise, r reset to a fresh copy, s solution (once solved),
    q quit. Saving during a grade restarts it. If FILE's folder has no progress.txt, one is created.

    \b
    Examples:
      zoo watch
      zoo watch my-transformer/attention.py
      zoo watch --quick
    """
    if file is None:
        folder = need_folder()
        file = folder.file(folder.current())
    exercise = exercise_for(file)
    if not is_file(file):
        raise ZooError(f"Cannot watch '{file}': it is not a regular file.")
    with Keys() as keys:
        begin_progress(file, exercise)
        Session(file, exercise, keys, quick).run()


def begin_progress(file: Path, exercise: Exercise) -> None:
    """Create a progress file beside the exercise if there is none, and say so."""
    folder = folder_of(file)
    if folder is None or file.name != exercise.file or folder.keeps_progress():
        return
    path = folder.path / record.FILE_NAME
    try:
        if record.begin(folder.path):
            click.echo(wrapped(f"Created {path} to save your progress."))
        else:
            click.echo(
                wrapped(f"{path} is not a progress file of zoo, so your progress is not saved."), err=True
            )
    except ZooError as error:
        click.echo(wrapped(f"Your progress is not saved. {error}"), err=True)


class Session:
    """One run of `zoo watch`. Each grade runs in a process of its own, so it cannot end this one.

    Args:
        file: watched first.
        exercise: that it is for.
        keys: where keys come from.
        quick: skip the training test.
    """

    def __init__(self, file: Path, exercise: Exercise, keys: Keys, quick: bool) -> None:
        self.file, self.exercise, self.keys, self.quick = file, exercise, keys, quick
        self.content: bytes | None = None
        self.stamp: tuple[int, ...] | None = None
        self.grade: subprocess.Popen[bytes] | None = None
        self.sure = False  # True if r was the last key

    @property
    def folder(self) -> Folder:
        """The folder of the file."""
        return folder_of(self.file) or Folder(self.file.parent)

    def run(self) -> None:
        """Watch until q is pressed. Raises KeyboardInterrupt and SystemExit as they come."""
        self.content = watching.content(self.file)
        try:
            while self._watch():
                pass
        finally:
            self._give_up()

    def _watch(self) -> bool:
        """Watch one file; return whether to continue with another."""
        file, folders = self.file, watching.folders_of(self.file)
        with watching.Watcher(folders) as watcher:
            self._start()
            while self.file == file:
                if self._pressed(self.keys.read(TICK_S)):
                    return False
                if watcher.ended or not folders[0].is_dir():
                    raise ZooError(f"Cannot watch '{file.parent}' any longer. {watcher.ended}".rstrip())
                if watcher.changed.is_set():
                    watcher.changed.clear()
                    self._changed()
                self._finished()
        return True

    def _changed(self) -> None:
        """Grade again if the file's content has changed since the last grade."""
        stamp = watching.stamp(self.file)
        if stamp == self.stamp:
            return
        content, self.stamp = watching.content(self.file), stamp
        if content == self.content:
            return
        self._give_up()
        self.content = content
        if content is None:
            self._print(f"{self.file} was removed. It will be graded when it is back.")
        else:
            self._start()

    def _start(self) -> None:
        """Start a grade."""
        self._give_up()
        self._print(bold(f"\n{'-' * 16} {self.file} {'-' * 16}"))
        arguments = ["grade", "--quick"] if self.quick else ["grade"]
        self.grade = subprocess.Popen(
            [*ZOO, *arguments, "--", str(self.file)],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for this process, which then ends the grade
        )

    def _finished(self) -> None:
        """Print the prompt once a grade has ended."""
        if self.grade is None or self.grade.poll() is None:
            return
        self.grade = None
        self._print(dim(f"Waiting for changes to {self.file}.") + self._keys())

    def _give_up(self) -> None:
        """Stop the running grade, if any."""
        if self.grade is None:
            return
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with suppress(subprocess.TimeoutExpired):
                self.grade.send_signal(number)
                self.grade.wait(timeout=3)
                break
        self.grade = None

    def _pressed(self, keys: str) -> bool:
        """Handle pressed keys; return whether to quit."""
        if keys == GONE:
            return True
        for key in keys:
            sure, self.sure = self.sure, False
            try:
                if key == "q":
                    return True
                self._do(key, sure)
            except ZooError as error:
                report(error)
        return False

    def _do(self, key: str, sure: bool) -> None:
        """Handle one key. Raises ZooError."""
        if key == "h":
            show_hint(self.folder, self.exercise)
        elif key == "l":
            click.echo(overview(self.folder))
        elif key == "s":
            show_solution(self.folder, self.exercise)
        elif key == "n":
            self._next()
        elif key == "r" and sure:
            show_reset(self.folder, self.exercise)
        elif key == "r":
            self.sure = True
            self._print(f"Press r again to replace {self.file} by a fresh copy (yours is renamed).")
        elif not key.isspace():
            self._print(self._keys().strip())

    def _next(self) -> None:
        """Switch to the next unsolved exercise, or else the first unsolved one before it."""
        names = list(get_exercises())
        unsolved = self.folder.unsolved()
        here = names.index(self.exercise.name)
        unsolved.sort(key=lambda one: (names.index(one.name) <= here, names.index(one.name)))
        if unsolved[:1] in ([], [self.exercise]):
            self._print("There is no other unsolved exercise here.")
            return
        self._give_up()
        self.exercise = unsolved[0]
        self.file = self.folder.file(self.exercise)
        self.content = watching.content(self.file)

    def _keys(self) -> str:
        return f"\nKeys: {KEYS}" if self.keys.there else ""

    def _print(self, text: str) -> None:
        click.echo(wrapped(text))
