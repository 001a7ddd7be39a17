"""Which slow tests are run where a part of them is drawn."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests import ROOT

FILES = ("tests/grader/engine/test_noise.py", "tests/mutation/test_sample.py")
DRAWS = 5


def collected(marked: str, **variables: str) -> list[str]:
    words = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", marked, *FILES]
    done = subprocess.run(
        words, cwd=ROOT, env={**os.environ, **variables}, capture_output=True, text=True, check=True
    )
    return re.findall(r"^tests/.*::.*", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_each_slow_test_is_drawn_once_but_those_that_always_run() -> None:
    always = "tests/mutation/test_sample.py::test_a_sample"
    draws = [collected("slow", ZOO_TEST_DRAW=f"{one}/{DRAWS}") for one in range(DRAWS)]
    drawn = [one for draw in draws for one in draw if one != always]
    assert sorted([*drawn, always]) == sorted(collected("slow", ZOO_TEST_DRAW="0/1"))
    assert all(always in draw for draw in draws)
    assert max(map(len, draws)) - min(map(len, draws)) <= len(FILES) + 2
    assert collected("not slow", ZOO_TEST_DRAW="1/5") == collected("not slow", ZOO_TEST_DRAW="0/1")
