"""Runs the tests on each seeded fault: `python -m tests.faults [NAME ...]`, by default on all of them.

A fault is applied to a copy of the tracked files in a temporary folder. The tests of its room come first, and the first
that fails is written down. Exit code 1 if a fault was not found.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import ROOT
from tests.faults.faults import FAULTS, Fault

FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
TIMEOUT_S = 1200


def copy(folder: Path) -> None:
    """Copy the tracked files, as they are in the working tree."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def own_tests(file: str) -> list[str]:
    """The tests of the room that `file` is in: first those named like it, then its folder, then the whole room."""
    path = Path(file)
    rooms = [Path("tests", *path.parts[:end]) for end in range(len(path.parts) - 1, 1, -1)]
    rooms = [room for room in rooms if (ROOT / room).is_dir()] or [Path("tests", path.parts[0])]
    stem = path.stem if path.stem != "__init__" else path.parent.name
    named = sorted((ROOT / rooms[0]).rglob(f"test_*{stem}*.py"))
    return [str(one.relative_to(ROOT)) for one in named] + [str(room) for room in rooms]


def find(fault: Fault, tests: Sequence[str]) -> str:
    """The first test that fails with `fault`, in this order of files and folders; "" if none does."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        copy(folder)
        patched = folder / fault.file
        patched.write_text(
            patched.read_text(encoding="utf-8").replace(fault.old, fault.new), encoding="utf-8"
        )
        for number, one in enumerate(tests):
            if found := first_failure(fault, folder, one, tests[:number]):
                return found
    return ""


def first_failure(fault: Fault, folder: Path, tests: str, done: Sequence[str]) -> str:
    """The first of these tests that fails, those that are `done` left out; "" if none does."""
    which = [] if fault.slow else ["-m", "not slow"]
    options = ["-x", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "--no-header", *which]
    left_out = [f"--ignore={one}" for one in ("tests/faults", *done)]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, tests, *left_out],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return f"(no end in {tests})"
    failed = FAILED.search(output)
    if failed is None and process.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"{fault.name}: pytest ended with {process.returncode}:\n{output[-2000:]}")
    return "" if failed is None else failed[1]


def main() -> int:
    """Run what was asked for, print and write what was found."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.faults", description="Run the tests on seeded faults."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="faults (default: all)")
    parser.add_argument("--jobs", type=int, default=1, help="faults at a time (default: 1)")
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATH", help="run these tests only")
    parser.add_argument("--room", action="store_true", help="leave it at the tests of each fault's room")
    parser.add_argument("--output", type=Path, metavar="FILE.csv", help="write what found each fault")
    asked = parser.parse_args()
    chosen = [fault for fault in FAULTS if fault.name in asked.names or not asked.names]
    unknown = set(asked.names) - {fault.name for fault in chosen}
    if unknown:
        parser.error(f"there is no fault called {', '.join(sorted(unknown))}")
    rows, rest = [], [] if asked.room else ["tests"]
    with ThreadPoolExecutor(asked.jobs) as pool:
        found = pool.map(lambda one: find(one, asked.tests or [*own_tests(one.file), *rest]), chosen)
        for fault, test in zip(chosen, found, strict=True):
            rows.append((fault.name, fault.file, test))
            print(f"{fault.name}: {test or 'NOT FOUND'}", flush=True)
    if asked.output is not None:
        with asked.output.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("fault", "file", "found_by"), *rows])
    return int(not all(test for _, _, test in rows))


if __name__ == "__main__":
    sys.exit(main())
