"""Where the tests run as root, the hostile submissions once more as an ordinary user, for whom the system has other
rules: who may trace, signal and write where differs, and so does what the confinement has to add."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.grader.ordinary import open_folder, run, why_not

HERE = Path(__file__).parent


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="all tests here run as an ordinary user already")
def test_it_holds_for_an_ordinary_user_too() -> None:
    if why_not():
        pytest.skip(why_not())
    chosen = ["-m", "not slow or elsewhere", str(HERE)]
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
    with open_folder() as folder:
        done = run([*words, f"--basetemp={folder / 'tests'}"], folder, timeout=1_200)
        left = [one.name for one in folder.iterdir() if one.name != "tests"]
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-1_000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) > 50  # a fifth of the slow ones, where those are drawn
    assert left == []
