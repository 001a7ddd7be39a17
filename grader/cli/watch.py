"""`zoo watch [FILE]...`."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.catalog import Exercise, exercise_for, get_exercise, get_exercises
from grader.cli.exercises import overview, report_unsaved
from grader.cli.hint import show_hint
from grader.cli.keys import GONE, Keys
from grader.cli.options import exercise_option
from grader.cli.reset import show_reset
from grader.cli.solution import show_solution
from grader.core.results import clean
from grader.learner import record, watching
from grader.learner.files import is_file
from grader.learner.folder import Folder, folder_of, need_folder
from zoo.cli.root import report
from zoo.cli.text import bold, dim, wrapped
from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors

if TYPE_CHECKING:
    from grader.cli.site import Site

START = """
import signal
import sys
def said(one, say=sys.unraisablehook):  # an interrupt in a callback of an import is lost, and another signal follows
    if one.exc_type is not KeyboardInterrupt:
        say(one)
sys.unraisablehook = said
try:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])  # blocked while Python itself was starting
    from zoo.cli import main
    main()
except KeyboardInterrupt:  # so early that `main` was not there to take it
    raise SystemExit(130) from None
"""
ZOO = [sys.executable, "-c", START]
TICK_S = 0.1
KEYS = "h hint, l list, n next, r reset, s solution, q quit"


def started(arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """`zoo` in a session of its own: Ctrl-C is for this process, which then ends that one.

    An interrupt that comes while Python is starting there waits until it has started, see `START`.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        return subprocess.Popen([*ZOO, *arguments], stdin=subprocess.DEVNULL, start_new_session=True)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@exercise_option
@click.option(
    "--quick", is_flag=True, help="Skip the training test (an exercise is not marked solved without it)."
)
@click.option("--web", is_flag=True, help="Also serve each report as a page that updates on every save.")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in a browser (with --web).")
def watch(files: tuple[Path, ...], exercise: str | None, quick: bool, web: bool, open_browser: bool) -> None:
    """Grade FILE on every save (default: the current exercise).

    Keys: h next hint, l list of exercises, n next exercise, r reset to a fresh copy, s solution (once solved),
    q quit. Saving during a grade restarts it. If FILE's folder has no progress.txt, one is created.
    With several files, keys are for the one graded last.

    With --web the page is at a secret address on this machine, which is printed; no other machine can reach it.

    \b
    Examples:
      zoo watch
      zoo watch my-transformer/attention.py
      zoo watch --quick
      zoo watch masks.py attention.py --web
      zoo watch draft.py --exercise attention
    """
    if open_browser and not web:
        raise ZooError("--open is for --web.")
    if not files:
        folder = need_folder()
        files = (folder.file(get_exercise(exercise) if exercise else folder.current()),)
    watched = {file: get_exercise(exercise) if exercise else exercise_for(file) for file in files}
    for file in watched:
        if not is_file(file):
            raise ZooError(f"Cannot watch '{_shown(file)}': it is not a regular file.")
    with contextlib.ExitStack() as stack:
        keys = stack.enter_context(Keys())
        for file, graded_as in watched.items():
            begin_progress(file, graded_as)
        site = stack.enter_context(_site()) if web else None
        if site is not None:
            _announce(site, [*watched], open_browser)
        Session(watched, keys, quick, site).run()


def _shown(path: Path) -> str:
    """The path, safe to print, on one line."""
    return " ".join(clean(str(path)).splitlines())


def _site() -> Site:
    from grader.cli.site import Site  # imports jinja2

    with reporting_os_errors("The pages cannot be served"):
        return Site()


def _announce(site: Site, files: Sequence[Path], open_browser: bool) -> None:
    """Print where the page is, and open it if that was asked for."""
    addresses = [site.address_of(file) for file in files]
    address = addresses[0] if len(files) == 1 else site.address
    click.echo(f"Page: {address}")
    if open_browser:
        import webbrowser

        if not webbrowser.open(address):
            click.echo("No browser could be started: open the address yourself.", err=True)


def begin_progress(file: Path, exercise: Exercise) -> None:
    """Create a progress file beside the exercise if there is none, and say so."""
    folder = folder_of(file)
    if folder is None or file.name != exercise.file or folder.keeps_progress():
        return
    try:
        if record.begin(folder.path):
            created = _shown(folder.path / record.FILE_NAME)
            click.echo(wrapped(f"Created {created} to save your progress."))
        else:
            report_unsaved(folder)
    except ZooError as error:
        click.echo(wrapped(f"Your progress is not saved. {error}"), err=True)


class Session:
    """One run of `zoo watch`. Each grade runs in a process of its own, so it cannot end this one.

    Args:
        watched: the files and what each is graded as, at least one; graded in this order.
        keys: where keys come from.
        quick: skip the training test.
        site: where reports are served as pages, or None.

    Attributes:
        file, exercise: what was graded last, which keys are for.
    """

    def __init__(
        self, watched: Mapping[Path, Exercise], keys: Keys, quick: bool, site: Site | None = None
    ) -> None:
        self.watched, self.keys, self.quick, self.site = dict(watched), keys, quick, site
        self.file, self.exercise = next(iter(self.watched.items()))
        self.contents: dict[Path, bytes | None] = {}
        self.stamps: dict[Path, tuple[int, ...] | None] = {}
        self.queue: list[Path] = []  # to be graded
        self.grade: subprocess.Popen[bytes] | None = None
        self.sure = False  # True if r was the last key

    @property
    def folder(self) -> Folder:
        """The folder of the file."""
        return folder_of(self.file) or Folder(self.file.parent)

    def run(self) -> None:
        """Watch until q is pressed. Raises KeyboardInterrupt and SystemExit as they come."""
        for file in self.watched:
            self._enqueue(file, watching.content(file))
        try:
            while self._watch():
                pass
        finally:
            self._give_up()

    def _watch(self) -> bool:
        """Watch these files; return whether to continue with others."""
        watched = list(self.watched)
        folders = {folder: None for file in watched for folder in watching.folders_of(file)}
        homes = [(file, file.absolute().parent) for file in watched]  # later there may be no current folder
        with watching.Watcher(folders) as watcher:
            self._start()
            while list(self.watched) == watched:
                if self._pressed(self.keys.read(TICK_S)):
                    return False
                gone = [file.parent for file, home in homes if not home.is_dir()]
                if watcher.ended or gone:  # the watcher does not say which folder it is about
                    names = dict.fromkeys(
                        f"'{_shown(one)}'" for one in gone or [file.parent for file in watched]
                    )
                    raise ZooError(f"Cannot watch {' and '.join(names)} any longer. {watcher.ended}".rstrip())
                if watcher.changed.is_set():
                    watcher.changed.clear()
                    self._changed()
                self._finished()
        return True

    def _changed(self) -> None:
        """Grade files again whose content has changed since their last grade."""
        for file in self.watched:
            stamp = watching.stamp(file)
            if stamp == self.stamps.get(file):
                continue
            content, self.stamps[file] = watching.content(file), stamp
            if content == self.contents.get(file):
                continue
            if file == self.file:
                self._give_up()
            self._enqueue(file, content)
            if content is None:
                self._print(f"{_shown(file)} was removed. It will be graded when it is back.")
        self._start()

    def _enqueue(self, file: Path, content: bytes | None) -> None:
        """Have a file graded, after those that wait already; or not, if there is none."""
        self.contents[file] = content
        self.queue = [one for one in self.queue if one != file]
        if content is not None:
            self.queue.append(file)
        elif self.site is not None:
            self.site.set_state(file, "removed")

    def _start(self) -> None:
        """Start the next grade, if none runs."""
        if self.grade is not None or not self.queue:
            return
        self.file = self.queue.pop(0)
        self.exercise = self.watched[self.file]
        self._print(bold(f"\n{'-' * 16} {_shown(self.file)} {'-' * 16}"))
        arguments = ["grade", *self._exercise(), *(["--quick"] if self.quick else [])]
        if self.site is not None:
            arguments += ["--format", "html", "-o", str(self.site.page_of(self.file))]
            self.site.set_state(self.file, "grading")
        self.grade = started([*arguments, "--", str(self.file)])

    def _exercise(self) -> list[str]:
        """The option that names the exercise, where the file does not."""
        with suppress(ZooError, OSError):  # the current folder may be gone
            if exercise_for(self.file) == self.exercise:
                return []
        return ["--exercise", self.exercise.name]

    def _finished(self) -> None:
        """Once a grade has ended, start the next, or print the prompt."""
        if self.grade is None or self.grade.poll() is None:
            return
        if self.site is not None:
            results = {0: "passed", 1: "failed"}  # exit codes of `zoo grade`
            self.site.set_state(self.file, results.get(self.grade.returncode, "stopped"))
        self.grade = None
        if self.queue:
            self._start()
            return
        names = _shown(self.file) if len(self.watched) == 1 else f"{len(self.watched)} files"
        self._print(dim(f"Waiting for changes to {names}.") + self._keys())

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
        elif key == "r" and self.file.name != self.exercise.file:
            self._print(
                f"Only {self.exercise.file} is replaced with a fresh copy; {_shown(self.file)} has another name."
            )
        elif key == "r" and sure:
            show_reset(self.folder, self.exercise)
        elif key == "r":
            self.sure = True
            self._print(f"Press r again to replace {_shown(self.file)} with a fresh copy (yours is renamed).")
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
        exercise = unsolved[0]
        file = self.folder.file(exercise)
        del self.watched[self.file]
        self.watched[file] = exercise
        self._enqueue(file, watching.content(file))
        if self.site is not None:
            self._print(f"Page: {self.site.address_of(file)}")

    def _keys(self) -> str:
        return f"\nKeys: {KEYS}" if self.keys.there else ""

    def _print(self, text: str) -> None:
        click.echo(wrapped(text))
