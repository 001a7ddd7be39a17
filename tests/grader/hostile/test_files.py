"""Every file that wants points, graded by a few `zoo grade` a level, with honest files among them."""

from __future__ import annotations

import itertools
import json
import os
import secrets
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grader.sandbox.sandbox import Sandbox
from tests.grader.hostile import WANTING
from tests.grader.hostile.hostile import Hostile
from zoo.core.errors import ZooError

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the levels are Linux's"),
    pytest.mark.slow,
]
HONEST = dict({one.control: (name, one) for name, one in WANTING.items()}.values())  # each text once
EVERY = 3  # the judge's own checks are the same at each level, and for each user


def wanting(some: bool) -> dict[str, Hostile]:
    """Those that only "strict" stops, and every so many of the others; or, if not `some`, the rest."""
    return {
        name: one
        for i, (name, one) in enumerate(WANTING.items())
        if ("process" not in one.stopped_by or i % EVERY == 1) is some
    }


RUNS = (pytest.param(("strict", True), marks=pytest.mark.elsewhere), ("strict", False), ("process", True))


# Without the names of mistakes, for which a wrong answer is compared with many others; and with little time for places,
# for which many changed copies run, or none: no verdict depends on them. Those that only "strict" stops have some.
LOCATING_S = "0.5"
ZOO = """
import sys

from grader.engine.naming import Namer
from grader.run.session import Session
from zoo.cli import main

for search in ("alone", "several"):
    assert hasattr(Namer, search)
    setattr(Namer, search, lambda *_: [])
assert "locating_budget_s" in Session.__init__.__kwdefaults__
Session.__init__.__kwdefaults__["locating_budget_s"] = float(sys.argv.pop(1))
main()
"""


@dataclass(frozen=True)
class Graded:
    """All runs at a level: of which hostile files, the largest exit code, the report of each file by its name, all that
    was said, and what was left."""

    level: str
    wanted: dict[str, Hostile]
    code: int
    reports: dict[str, Any]
    said: str
    secret: str
    left: list[str]


def grade(level: str, hostile: dict[str, Hostile], folder: Path, locating: str, runs: int) -> Graded:
    """Grade these files and honest ones, in turns. Args: locating: seconds; runs: side by side."""
    secret = f"SECRET-{secrets.token_hex(8)}"
    temporary, home = folder / "tmp", folder / "home"
    for one in (temporary, home):
        one.mkdir()
    (home / "key").write_text(secret)
    files = [
        _write(folder / f"{name}-hostile", f"{one.exercise}.py", one.source) for name, one in hostile.items()
    ]
    files += [
        _write(folder / f"{name}-honest", f"{one.exercise}.py", one.control) for name, one in HONEST.items()
    ]
    files = [
        file
        for pair in itertools.zip_longest(files[: len(hostile)], files[len(hostile) :])
        for file in pair
        if file
    ]
    environment = {**os.environ, "TMPDIR": str(temporary), "HOME": str(home), "ZOO_SECRET": secret}

    def run(number: int) -> tuple[int, str, str]:
        report = folder / f"report{number}.json"
        command = [sys.executable, "-c", ZOO, locating, "grade", "--quick", "--format=json"]
        done = subprocess.run(
            [*command, f"--sandbox={level}", f"--output={report}", *map(str, files[number::runs])],
            capture_output=True,
            env=environment,
            timeout=1_200,
            check=False,
        )
        assert report.exists(), done.stderr.decode()[-2_000:]
        return done.returncode, (done.stdout + done.stderr).decode(), report.read_text()

    with ThreadPoolExecutor(runs) as threads:
        done = list(threads.map(run, range(runs)))
    found = {Path(one["file"]).parent.name: one for _, _, report in done for one in json.loads(report)}
    said = "".join(text for _, *texts in done for text in texts)
    left = [one.name for one in temporary.iterdir()] + _made(folder)
    return Graded(level, hostile, max(code for code, *_ in done), found, said, secret, left)


def _write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir()
    (folder / name).write_text(text)
    return folder / name


def _made(folder: Path) -> list[str]:
    """Files beside a submission's own."""
    own = {"masks.py", "feedforward.py"}
    return [str(one) for one in folder.glob("*-*/*") if one.name not in own]


@pytest.fixture(scope="module", params=RUNS, ids=lambda run: f"{run[0]}-{'some' if run[1] else 'others'}")
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Graded:
    level, some = request.param
    with Sandbox(level) as sandbox:
        try:
            sandbox.level("cpu")
        except ZooError as error:
            pytest.skip(str(error))
    # many of those that only "strict" stops wait for what never comes
    locating, runs = (LOCATING_S, 3) if (level, some) == ("strict", True) else ("0", 1)
    return grade(level, wanting(some), tmp_path_factory.mktemp("graded"), locating, runs)


def test_hostile_files_do_not_pass_and_honest_ones_do(run: Graded) -> None:
    wrong = []
    for name, one in run.wanted.items():
        report = run.reports[f"{name}-hostile"]
        if report["passed"] is (run.level in one.stopped_by):
            wrong.append(f"{name}: passed is {report['passed']}")
    wrong += [
        f"{name}: the honest file fails" for name in HONEST if not run.reports[f"{name}-honest"]["passed"]
    ]
    assert wrong == []
    assert {report["sandbox"] for report in run.reports.values()} == {run.level}


def test_the_run_goes_on_and_leaves_nothing(run: Graded) -> None:
    assert run.code == 1
    assert len(run.reports) == len(run.wanted) + len(HONEST)
    # `written-report` writes beside its folder, too: nothing but "strict" keeps it from that.
    assert run.left == ([] if run.level == "strict" else ["progress.txt"])


def test_no_secret_is_told(run: Graded) -> None:
    assert run.secret not in run.said


def test_failures_are_told_in_words(run: Graded) -> None:
    for name in run.wanted:
        report = run.reports[f"{name}-hostile"]
        if not report["passed"]:
            failed = [test for test in report["tests"] if test["status"] == "failed"]
            assert failed, name
            assert all(test["message"] for test in failed), name
            assert "Traceback" not in json.dumps(report), name
