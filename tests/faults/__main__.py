"""Runs the tests on each seeded fault: `python -m tests.faults [NAME ...]`, by default on all of them.

A fault is applied to a copy of the tracked files in a temporary folder. The test that found it the last time
(`found.csv`) comes first, then the tests of its room, then all, and the first that fails is written down. At the end
what found a fault runs once more without any: a test that fails there too has found nothing. Exit code 1 if a fault was
not found.
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
FOUND = ROOT / "tests/faults/found.csv"
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


def recorded() -> dict[str, list[str]]:
    """For each fault the test that found it the last time, whatever its parameters are called now."""
    with FOUND.open(encoding="utf-8", newline="") as file:
        return {row["fault"]: [function(row["found_by"])] for row in csv.DictReader(file) if row["found_by"]}


def function(test: str) -> str:
    """A test's name without its parameters."""
    return test.partition("[")[0]


def find(fault: Fault, tests: Sequence[str]) -> str:
    """The first test that fails with `fault`, in this order of tests, files and folders; "" if none does."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        copy(folder)
        patched = folder / fault.file
        patched.write_text(
            patched.read_text(encoding="utf-8").replace(fault.old, fault.new), encoding="utf-8"
        )
        for number, one in enumerate(tests):
            if found := failures(folder, [one], ["-x", *(f"--ignore={done}" for done in tests[:number])]):
                return found[0]
    return ""


def failures(folder: Path, tests: Sequence[str], options: Sequence[str] = ()) -> list[str]:
    """Those of these tests that fail in `folder`; none where a single test is there no longer."""
    common = ["-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "--no-header", "--ignore=tests/faults"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *common, "-m", "not slow", *options, *tests],
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
        return [f"(no end in {' '.join(tests)})"]
    failed = FAILED.findall(output)
    harmless = {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}
    if len(tests) == 1 and "::" in tests[0]:
        harmless.add(pytest.ExitCode.USAGE_ERROR)  # no such test
    if not failed and process.returncode not in harmless:
        raise RuntimeError(f"pytest ended with {process.returncode} in {folder}:\n{output[-2000:]}")
    return failed


def failing_anyway(tests: Sequence[str]) -> set[str]:
    """Those of these tests, without parameters, that fail without a fault."""
    with tempfile.TemporaryDirectory() as made:
        copy(Path(made))
        return {function(test) for test in failures(Path(made), sorted(set(tests)))} if tests else set()


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
    last = recorded()
    rest = [] if asked.room else ["tests"]
    found: dict[str, str] = {}
    with ThreadPoolExecutor(asked.jobs) as pool:
        searches = pool.map(
            lambda one: find(one, asked.tests or [*last.get(one.name, []), *own_tests(one.file), *rest]),
            chosen,
        )
        for fault, test in zip(chosen, searches, strict=True):
            found[fault.name] = test
            print(f"{fault.name}: {test or 'NOT FOUND'}", flush=True)
    anyway = failing_anyway([function(test) for test in found.values() if test.startswith("tests/")])
    for name, test in found.items():
        if function(test) in anyway:
            print(f"{name}: NOT FOUND, {test} fails without it too")
            found[name] = ""
    if asked.output is not None:
        rows = [(fault.name, fault.file, found[fault.name]) for fault in chosen]
        with asked.output.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([("fault", "file", "found_by"), *rows])
    return int(not all(found.values()))


if __name__ == "__main__":
    sys.exit(main())
