"""Keeps the README true: runs its commands, and writes or compares what they print.

A block opened with ```console holds one command ("$ ...") and its output. Words after `console`:
`volatile`, numbers in the output differ from run to run; `slow`, takes more than a few seconds;
`exit=N`, the exit code it must have. `python -m tests.readme` rewrites the outputs. Plugins that a reader
does not have are not loaded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"```console(?P<words>[^\n]*)\n\$ (?P<command>[^\n]*)\n(?P<output>.*?)```\n", re.DOTALL)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")


@dataclass(frozen=True)
class Example:
    """One command of the README and what the README says it prints."""

    command: str
    words: tuple[str, ...]
    output: str

    @property
    def exit_code(self) -> int:
        return next((int(word.removeprefix("exit=")) for word in self.words if word.startswith("exit=")), 0)

    def comparable(self, output: str) -> list[str]:
        """The lines to compare: for a volatile block, numbers and the width of tables do not count."""
        lines = [line.rstrip() for line in output.strip().splitlines()]
        if "volatile" not in self.words:
            return lines
        return [re.sub(r"[-\s]+", " ", NUMBER.sub("0", line)).strip() for line in lines]


def examples(text: str) -> list[Example]:
    """The commands of the README, in order."""
    return [Example(m["command"], tuple(m["words"].split()), m["output"]) for m in BLOCK.finditer(text)]


def workshop() -> Path:
    """A folder in which the README's relative paths exist and nothing of ours can be overwritten."""
    folder = Path(tempfile.mkdtemp(prefix="zoo-readme-"))
    shutil.copytree(ROOT / "exercises", folder / "exercises")
    shutil.copytree(ROOT / "grader" / "solutions", folder / "grader" / "solutions")
    return folder


def run(example: Example, folder: Path) -> str:
    """What the command prints on standard output, 80 columns, no colour. Raises if its exit code is another."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shown = {"COLUMNS": "80", "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "ZOO_PLUGINS": "grader"}
    env = {**os.environ, "PATH": path, **shown}
    done = subprocess.run(
        example.command, shell=True, cwd=folder, env=env, capture_output=True, text=True, timeout=600
    )
    if done.returncode != example.exit_code:
        raise AssertionError(
            f"`{example.command}` ended with {done.returncode}, not {example.exit_code}:\n{done.stdout}{done.stderr}"
        )
    return done.stdout


def main() -> None:
    """Rewrite the outputs in the README."""
    readme, folder = ROOT / "README.md", workshop()

    def rewritten(match: re.Match[str]) -> str:
        example = Example(match["command"], tuple(match["words"].split()), match["output"])
        print(f"$ {example.command}", file=sys.stderr)
        output = "\n".join(line.rstrip() for line in run(example, folder).strip().splitlines())
        return f"```console{match['words']}\n$ {match['command']}\n{output}\n```\n"

    readme.write_text(BLOCK.sub(rewritten, readme.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
