"""Keeps the pages true: runs their commands in order, and compares what they print with what the page shows.

A block opened with ```console holds one command ("$ ...") and its output. Words after `console`:
`volatile`, numbers in the output differ from run to run; `exit=N`, the exit code it must have; `checked-by=FILE`,
a test in FILE runs it in a cheaper way and compares the output (`the_example` finds it). `python -m tests.docs`
rewrites the outputs, but of those, and the generated tables.

Code whose first line is a comment with a path is that file, written before the commands below it run. After the
path: `continued`, for code that is appended; `one more entry`, for an entry that is added to VARIANTS. A
pyproject.toml, of the page or written by one of its commands, is installed, as far as its entry points go. Other
Python blocks are excerpts, unless their first line is `# runs`: then a test executes them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.exercises import built_in
from tests import ROOT, solution_file
from tests.docs import tables

STEP = re.compile(
    r"```console(?P<words>[^\n]*)\n\$ (?P<command>[^\n]*)\n(?P<output>.*?)```\n"
    r"|```(?:python|toml)\n# (?P<path>[\w./-]+\.(?:py|toml))(?:, (?P<how>[^\n]*))?\n(?P<code>.*?)```\n",
    re.DOTALL,
)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")
FACT = re.compile(r'^(name|version) = "(.*)"$', re.MULTILINE)
ENTRY = re.compile(r"^([\w-]+) = ", re.MULTILINE)


EXERCISES = tuple(one.name for one in built_in())


@dataclass(frozen=True)
class Example:
    """One command of a page and what the page says it prints."""

    command: str
    words: tuple[str, ...]
    output: str

    @property
    def checked_elsewhere(self) -> bool:
        return any(word.startswith("checked-by=") for word in self.words)

    @property
    def exit_code(self) -> int:
        return next((int(word.removeprefix("exit=")) for word in self.words if word.startswith("exit=")), 0)

    def comparable(self, output: str) -> list[str]:
        """The lines to compare: for a volatile block, numbers and the width of tables do not count."""
        lines = [line.rstrip() for line in output.strip().splitlines()]
        if "volatile" not in self.words:
            return lines
        return [re.sub(r"[-\s]+", " ", NUMBER.sub("0", line)).strip() for line in lines]


@dataclass(frozen=True)
class File:
    """Code of a page that is a file, or part of one."""

    path: str
    how: str
    code: str

    def write(self, folder: Path) -> None:
        """Make the file in `folder`, or add to it."""
        path = folder / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if self.how == "one more entry":
            text = path.read_text(encoding="utf-8")
            assert "VARIANTS = (\n" in text
            path.write_text(text.replace("VARIANTS = (\n", f"VARIANTS = (\n{self.code}"), encoding="utf-8")
        else:
            with path.open("a" if self.how == "continued" else "w", encoding="utf-8") as file:
                file.write(self.code)


def _install(folder: Path) -> None:
    """What pip would write beside the modules of `folder`: name, version and entry points."""
    project = (folder / "pyproject.toml").read_text(encoding="utf-8")
    facts = dict(FACT.findall(project))
    entries = project.partition("[project.entry-points.zoo]\n")[2].partition("\n\n")[0]
    info = folder / f"{facts['name'].replace('-', '_')}-{facts['version']}.dist-info"
    info.mkdir(exist_ok=True)
    metadata = f"Metadata-Version: 2.1\nName: {facts['name']}\nVersion: {facts['version']}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[zoo]\n{entries}\n".replace('"', ""), encoding="utf-8")


def _step(match: re.Match[str]) -> Example | File:
    if match["command"] is None:
        return File(match["path"], match["how"] or "", match["code"])
    return Example(match["command"], tuple(match["words"].split()), match["output"])


def steps(text: str) -> list[Example | File]:
    """The commands and the files of a page, in order."""
    return [_step(match) for match in STEP.finditer(text)]


def examples(text: str) -> list[Example]:
    """Its commands."""
    return [step for step in steps(text) if isinstance(step, Example)]


def the_example(page: str, ending: str) -> Example:
    """The command of a page that ends so."""
    text = (ROOT / page).read_text(encoding="utf-8")
    (found,) = [one for one in examples(text) if one.command.endswith(ending)]
    return found


def workshop() -> Path:
    """A copy of the parts of a checkout that commands name."""
    folder = _empty("docs")
    shutil.copytree(ROOT / "exercises", folder / "exercises")
    for name in EXERCISES:
        file = folder / solution_file(name).relative_to(ROOT)
        file.parent.mkdir(parents=True)
        shutil.copy(solution_file(name), file)
    return folder


def checkout() -> Path:
    """A folder with a zoo of its own, to which parts can be added."""
    folder = _empty("plugins")
    shutil.copytree(ROOT / "zoo", folder / "zoo", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def bare() -> Path:
    """An empty folder."""
    return _empty("exercises")


def _empty(name: str) -> Path:
    """A new folder whose pytest does not look for settings in those above, which are anybody's."""
    folder = Path(tempfile.mkdtemp(prefix=f"zoo-{name}-"))
    (folder / "pytest.ini").touch()
    return folder


ALL_PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "zoo/**/*.md", "grader/**/*.md", "exercises/**/*.md")
    for path in ROOT.glob(pattern)
)
PLACES: dict[str, Callable[[], Path]] = {"docs/plugins.md": checkout, "docs/write-an-exercise.md": bare}
"""Where the commands of a page run, if not in a `workshop`."""
PAGES: dict[Path, Callable[[], Path]] = {
    page: PLACES.get(page.relative_to(ROOT).as_posix(), workshop)
    for page in ALL_PAGES
    if steps(page.read_text(encoding="utf-8"))
}
"""The pages with commands, and where these run."""


def run(example: Example, folder: Path) -> str:
    """What the command prints on standard output, 80 columns, no colour. Raises if its exit code is another.

    The plugins loaded are the grader and those that the page installs: a reader has no other.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    packages = [
        project.parent for project in (*folder.glob("pyproject.toml"), *folder.glob("*/pyproject.toml"))
    ]
    for package in packages:
        _install(package)
    entries = "\n".join(
        file.read_text(encoding="utf-8")
        for package in packages
        for file in package.glob("*.dist-info/entry_points.txt")
    )
    plugins = ",".join(["grader", *ENTRY.findall(entries)])
    shown = {"COLUMNS": "80", "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "ZOO_PLUGINS": plugins}
    own = [folder, *packages] if (folder / "zoo").exists() else packages
    modules = {"PYTHONPATH": os.pathsep.join(map(str, [*own, ROOT]))}
    done = subprocess.run(
        example.command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path, **modules, **shown},
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode != example.exit_code:
        raise AssertionError(
            f"`{example.command}` ended with {done.returncode}, not {example.exit_code}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def rewrite(page: Path, folder: Path) -> None:
    """Run the page, and write what its commands print into it."""

    def rewritten(match: re.Match[str]) -> str:
        step = _step(match)
        if isinstance(step, File):
            step.write(folder)
        if isinstance(step, File) or step.checked_elsewhere:
            return match[0]
        print(f"$ {step.command}", file=sys.stderr)
        output = "".join(f"{line.rstrip()}\n" for line in run(step, folder).strip("\n").splitlines())
        return f"```console{match['words']}\n$ {step.command}\n{output}```\n"

    page.write_text(STEP.sub(rewritten, page.read_text(encoding="utf-8")), encoding="utf-8")


def main(names: Sequence[str]) -> None:
    """Rewrite the tables, and the outputs in the pages: all, or those whose file names are given."""
    tables.main()
    for page, place in PAGES.items():
        if names and page.name not in names:
            continue
        folder = place()
        rewrite(page, folder)
        shutil.rmtree(folder)
