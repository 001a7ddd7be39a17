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
from grader.learner import watching
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
@click.option("--quick", is_flag=True, help="Leave out the training test, and with it what solves.")
def watch(file: Path | None, quick: bool) -> None:
    """Grade FILE each time it is saved, the current exercise else.

    Keys, where there is a terminal: h the next hint, l the list of exercises, n the next exercise, r a fresh copy
    of this one, s its solution once it is solved, q quit. A grade that runs when the file is saved is given
    up for a new one.

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
        raise ZooError(f"'{file}' is not a file that could be watched; expected a Python file.")
    with Keys() as keys:
        Session(file, exercise, keys, quick).run()


class Session:
    """One run of `zoo watch`: a grade is a process of its own, so nothing that it does can end this one.

    Args:
        file: watched first.
        exercise: that it is for.
        keys: where keys come from.
        quick: leave out the training test.
    """

    def __init__(self, file: Path, exercise: Exercise, keys: Keys, quick: bool) -> None:
        self.file, self.exercise, self.keys, self.quick = file, exercise, keys, quick
        self.content: bytes | None = None
        self.stamp: tuple[int, ...] | None = None
        self.grade: subprocess.Popen[bytes] | None = None
        self.sure = False  # whether r was the last key

    @property
    def folder(self) -> Folder:
        """Where the file lies."""
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
        """Watch one file; whether to go on with another."""
        file, folders = self.file, watching.folders_of(self.file)
        with watching.Watcher(folders) as watcher:
            self._start()
            while self.file == file:
                if self._pressed(self.keys.read(TICK_S)):
                    return False
                if watcher.ended or not folders[0].is_dir():
                    raise ZooError(f"'{file.parent}' cannot be watched any more. {watcher.ended}".rstrip())
                if watcher.changed.is_set():
                    watcher.changed.clear()
                    self._changed()
                self._finished()
        return True

    def _changed(self) -> None:
        """Grade anew, if the file's content is another than that of the last grade."""
        stamp = watching.stamp(self.file)
        if stamp == self.stamp:
            return
        content, self.stamp = watching.content(self.file), stamp
        if content == self.content:
            return
        self._give_up()
        self.content = content
        if content is None:
            self._say(f"{self.file} is gone. It is graded when it is there again.")
        else:
            self._start()

    def _start(self) -> None:
        """Begin a grade."""
        self._give_up()
        self._say(bold(f"\n{'-' * 16} {self.file} {'-' * 16}"))
        arguments = ["grade", "--quick"] if self.quick else ["grade"]
        self.grade = subprocess.Popen(
            [*ZOO, *arguments, "--", str(self.file)],
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for this process, which then ends the grade
        )

    def _finished(self) -> None:
        """Once a grade has ended, say what to do."""
        if self.grade is None or self.grade.poll() is None:
            return
        self.grade = None
        self._say(dim(f"Waiting for {self.file} to be saved.") + self._keys())

    def _give_up(self) -> None:
        """End the grade that runs, if one does."""
        if self.grade is None:
            return
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            with suppress(subprocess.TimeoutExpired):
                self.grade.send_signal(number)
                self.grade.wait(timeout=3)
                break
        self.grade = None

    def _pressed(self, keys: str) -> bool:
        """Do what the keys say; whether to quit."""
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
        """Do what one key says. Raises ZooError."""
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
            self._say(f"Press r again for a fresh copy of {self.file}; yours is kept beside it.")
        elif not key.isspace():
            self._say(self._keys().strip())

    def _next(self) -> None:
        """Go on to the first exercise after this one that is not solved, or else before it."""
        names = list(get_exercises())
        unsolved = self.folder.unsolved()
        here = names.index(self.exercise.name)
        unsolved.sort(key=lambda one: (names.index(one.name) <= here, names.index(one.name)))
        if unsolved[:1] in ([], [self.exercise]):
            self._say("No other exercise here is unsolved.")
            return
        self._give_up()
        self.exercise = unsolved[0]
        self.file = self.folder.file(self.exercise)
        self.content = watching.content(self.file)

    def _keys(self) -> str:
        return f"\nKeys: {KEYS}" if self.keys.there else ""

    def _say(self, text: str) -> None:
        click.echo(wrapped(text))
