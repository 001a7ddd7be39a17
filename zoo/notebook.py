"""`%load_ext zoo`: the commands of the zoo in a notebook, `%zoo list attention`; plugins add cells, `%%zoo attention`.

A command runs in a process of its own, so that nothing done in the notebook's kernel, such as another default dtype,
changes what it prints. IPython is never imported here: it hands its shell over.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.core.errors import ZooError
from zoo.core.plugins import get_plugins

# without the current folder on the path, where a learner's `random.py` may be
START = "import sys; sys.path[:] = sys.path[1:]; from zoo.cli import main; main()"
COLUMNS = "90"
PATIENCE = 5.0  # seconds that a command has to end after Ctrl-C
NOT_HERE = {"watch": "It needs a terminal. In a notebook, run the cell again."}
NAME = "zoo"


@dataclass(frozen=True)
class Prepared:
    """A command's arguments as they are run, and the folder to run it in; None: the kernel's."""

    args: Sequence[str]
    folder: Path | None = None


@dataclass
class Magics:
    """The magics `%zoo` and `%%zoo`; passed to the hook `zoo_notebook`.

    Attributes:
        cell: grades a cell, or whatever a plugin does with it: called with the line and the text below it.
        prepare: by command, what completes its arguments where they are left out.
    """

    cell: Callable[[str, str], None] | None = None
    prepare: dict[str, Callable[[list[str]], Prepared]] = field(default_factory=dict)

    def run_line(self, line: str) -> None:
        """`%zoo COMMAND [ARGS]`: run the command, and print what it prints as it comes."""
        with_errors(self._run_line, line)

    def run_cell(self, line: str, cell: str) -> None:
        """`%%zoo ...`: hand the cell to the plugin that takes cells."""
        if self.cell is None:
            print("Error: no plugin grades cells: %zoo plugins lists those that are loaded.", file=sys.stderr)
        else:
            with_errors(self.cell, line, cell)

    def _run_line(self, line: str) -> None:
        args = split(line)
        if args and args[0] in NOT_HERE:
            raise ZooError(f"`zoo {args[0]}`: {NOT_HERE[args[0]]}")
        prepare = self.prepare.get(args[0]) if args else None
        prepared = Prepared(args) if prepare is None else prepare(args)
        for text in output_of(prepared):
            print(text, end="")


def split(line: str) -> list[str]:
    """The words of a line, as a shell takes them. Raises ZooError for quotes that are not closed."""
    try:
        return shlex.split(line)
    except ValueError as error:
        raise ZooError(f"%zoo {line}: {error}. Close the quotes.") from error


class Interrupted(KeyboardInterrupt):
    """Ends the cell, and those that are to run after it, and is shown without a traceback."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows."""
        return ["Interrupted."]


def with_errors(run: Callable[..., None], *args: str) -> None:
    """Call a function; a ZooError is printed as a sentence. Raises Interrupted for KeyboardInterrupt."""
    try:
        run(*args)
    except ZooError as error:
        print(f"Error: {error}", file=sys.stderr)
    except KeyboardInterrupt:
        raise Interrupted from None


def output_of(prepared: Prepared) -> Iterator[str]:
    """Run a command of the zoo; yields what it prints, line by line. Ctrl-C ends it, and is raised again."""
    process = subprocess.Popen(
        [sys.executable, "-c", START, *prepared.args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        cwd=prepared.folder,
        env={**os.environ, "COLUMNS": COLUMNS, "PYTHONUTF8": "1", "NO_COLOR": "1"},
        start_new_session=True,  # Ctrl-C comes from here, and once
    )
    try:
        assert process.stdout is not None
        with process.stdout:
            yield from process.stdout
        process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        raise


def load(shell: Any) -> None:
    """Register `%zoo` and `%%zoo` in an IPython shell."""
    magics = Magics()
    get_plugins().each("zoo_notebook", lambda _plugin, _result: None, magics=magics)
    shell.register_magic_function(magics.run_line, "line", NAME)
    shell.register_magic_function(magics.run_cell, "cell", NAME)


def unload(shell: Any) -> None:
    """Take them out again."""
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop(NAME, None)
