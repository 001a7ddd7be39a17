"""`%%zoo attention` above a cell of a notebook: the cell is graded as the exercise's file."""

from __future__ import annotations

import atexit
import hashlib
import html
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.catalog import Exercise, exercise_for, get_exercise, get_exercises
from grader.learner import files
from grader.learner.folder import Folder, find_folder
from grader.learner.record import Entry, begin, update
from zoo.core.errors import ZooError
from zoo.notebook import Magics, Prepared, output_of, split

HEIGHT = 640  # pixels of a page in the notebook; it can be resized
WROTE = "cell"
"""What the part of a progress line begins with that says which file was written from a cell."""


def add_to(magics: Magics) -> None:
    """Let `%%zoo` grade cells, and `%zoo hint` and `%zoo trace` be about the cell that was graded last."""
    cells = Cells()
    magics.cell = cells.grade
    magics.prepare |= dict.fromkeys(("hint", "trace", "progress", "quiz", "solution"), cells.prepare)


class Cells:
    """Grades cells, and remembers the last.

    In a learner's folder a cell is saved as the exercise's file. Elsewhere it goes to a temporary folder that lasts as
    long as the kernel, with a progress file, so that hints go on.
    """

    def __init__(self) -> None:
        self.last: Exercise | None = None
        self._temporary: Path | None = None

    def grade(self, line: str, cell: str) -> None:
        """Grade `cell` as `zoo grade` does, and show the page of the result. Raises ZooError."""
        args = split(line)
        if not args or args[0].startswith("-"):
            names = ", ".join(get_exercises())
            raise ZooError(
                f"%%zoo: name the exercise that the cell is for, as in %%zoo attention. There are {names}."
            )
        exercise = exercise_for(Path(args[0])) if args[0].endswith(".py") else get_exercise(args[0])
        if not cell.strip():
            raise ZooError(
                f"The cell is empty, and {exercise.file} is left as it is: write the code of the exercise below %%zoo."
            )
        # a line in place of the magic's, so that lines are counted as in the notebook
        text = f"# %%zoo {line.strip()}\n{cell}"
        folder = find_folder()
        file = Path(exercise.file)
        if folder is None:
            (self.temporary() / file).write_text(text, encoding="utf-8")
        else:
            self._save(folder, exercise, text)
            file = folder.file(exercise)
        self.last = exercise
        self._show(["grade", str(file), *args[1:]], None if folder is not None else self.temporary())

    def temporary(self) -> Path:
        """The folder of cells where there is no learner's folder."""
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="zoo-cells-"))
            atexit.register(shutil.rmtree, self._temporary, ignore_errors=True)
            begin(self._temporary)
        return self._temporary

    def prepare(self, args: list[str]) -> Prepared:
        """The command about the last graded cell where no exercise is named; `trace` takes a name too."""
        command, *rest = args
        folder = find_folder()
        if command != "progress":
            named = rest and not rest[0].startswith("-")
            if not named and self.last is not None:
                rest = [self._name(folder, self.last, command), *rest]
            elif rest and rest[0] in get_exercises():
                rest[0] = self._name(folder, get_exercise(rest[0]), command)
        elsewhere = None if folder is not None else self.temporary()
        return Prepared([command, *rest], elsewhere)

    def _name(self, folder: Folder | None, exercise: Exercise, command: str) -> str:
        file = Path(exercise.file) if folder is None else folder.file(exercise)
        return exercise.name if command == "solution" else str(file)

    def _save(self, folder: Folder, exercise: Exercise, text: str) -> None:
        """Write the cell to the exercise's file. What is there and was not written from a cell is kept aside."""
        file, content = folder.file(exercise), text.encode()
        before = file.read_bytes() if files.is_file(file) else None
        if before not in (None, content, exercise.template_text().encode()) and not _from_cell(
            folder, exercise, before
        ):
            aside = next(name for name in files.free_name(file) if files.write_new(name, before or b""))
            print(f"{file} was changed outside of this notebook. It is kept as {aside.name}.\n")
        if before != content:
            files.replace(file, content)
        if folder.keeps_progress():
            update(folder.path, exercise.name, lambda entry: _noted(entry, content))

    def _show(self, args: list[str], folder: Path | None) -> None:
        """Run `zoo grade` and show its page, or its text where there is no page."""
        from grader.reports import get_formats

        own = {"--format", "-o", "--output"} & {arg.partition("=")[0] for arg in args}
        if own or "html" not in get_formats():
            for text in output_of(Prepared(args, folder)):
                print(text, end="")
            return
        with tempfile.TemporaryDirectory(prefix="zoo-page-") as place:
            path = Path(place) / "page.html"
            said = "".join(output_of(Prepared([*args, "--format", "html", "-o", str(path)], folder)))
            page = path.read_text(encoding="utf-8") if path.is_file() else ""
        if not page:
            print(said, end="")
            return
        from IPython import display

        show: Any = display.display
        show({"text/html": frame(page), "text/plain": said}, raw=True)


def frame(page: str) -> str:
    """A page in a frame of its own: its scripts run there, and reach neither the notebook nor the network."""
    return (
        f'<iframe title="Grade" sandbox="allow-scripts" width="100%" height="{HEIGHT}" '
        f'style="border: 1px solid #8884; resize: vertical" srcdoc="{html.escape(page)}"></iframe>'
    )


def _from_cell(folder: Folder, exercise: Exercise, content: bytes) -> bool:
    """Return whether this is what a cell wrote last."""
    return f"{WROTE} {_digest(content)}" in folder.record().entry(exercise.name).more


def _noted(entry: Entry, content: bytes) -> Entry:
    """The entry with a note of what a cell wrote."""
    others = (part for part in entry.more if not part.startswith(f"{WROTE} "))
    return replace(entry, more=(*others, f"{WROTE} {_digest(content)}"))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]
