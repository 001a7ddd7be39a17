"""Whole grades in bad company: the judge killed in the middle of one, and another grader at the same time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.grader.processes import ZOO, below, gone, wait_until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
WAITS = "import time\nopen('started', 'w').close()\ntime.sleep(600)\n"


@pytest.mark.slow
def test_the_judge_killed_in_the_middle_of_a_grade_leaves_nothing(tmp_path: Path) -> None:
    temporary, learner = tmp_path / "tmp", tmp_path / "exercises"
    temporary.mkdir()
    learner.mkdir()
    (learner / "masks.py").write_text(WAITS)
    progress = b"masks: tried; points 3/20\n"
    (learner / "progress.txt").write_bytes(progress)
    judge = subprocess.Popen(
        [*ZOO, "grade", str(learner / "masks.py"), "--quick"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    try:
        wait_until(lambda: bool(list(temporary.glob("zoo-*/started"))))
        started = below(judge.pid)
        assert len(started) >= 2  # the fork server and the worker, which has begun with the file
    finally:
        judge.send_signal(signal.SIGKILL)
        judge.wait()
    wait_until(lambda: all(map(gone, started)) and not list(temporary.glob("zoo-*")))
    assert [pid for pid in started if not gone(pid)] == []
    assert list(temporary.glob("zoo-*")) == []
    assert (learner / "progress.txt").read_bytes() == progress
    assert {one.name for one in learner.iterdir()} <= {"masks.py", "progress.txt", ".progress.txt.lock"}


@pytest.mark.slow
def test_two_graders_at_once_in_one_folder(tmp_path: Path) -> None:
    temporary, learner = tmp_path / "tmp", tmp_path / "exercises"
    temporary.mkdir()
    learner.mkdir()
    (learner / "progress.txt").write_text("masks: new\nfeedforward: new\n")
    graders = []
    for name in ("masks", "feedforward"):
        (learner / f"{name}.py").write_text((ROOT / "exercises" / f"{name}.py").read_text())
        words = [*ZOO, "grade", str(learner / f"{name}.py")]
        environment = {**os.environ, "TMPDIR": str(temporary)}
        graders.append(
            subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        )
    for grader in graders:
        out, said = grader.communicate(timeout=300)
        assert (grader.returncode, said) == (1, b""), out  # nothing is written yet
    noted = (learner / "progress.txt").read_text()
    assert "masks: tried" in noted
    assert "feedforward: tried" in noted
    assert list(temporary.iterdir()) == []
