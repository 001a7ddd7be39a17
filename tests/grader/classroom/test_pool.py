"""Judges that live on, die, hang and lie."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.catalog import CATEGORIES, get_exercise
from grader.classroom import pool as pools
from grader.classroom.judge import state_of
from grader.classroom.pool import Job, Limits, LocalPool, Outcome
from grader.core.results import Grade, GraderBrokenError, Result
from tests import ROOT

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="judges are fed over pipes with selectors")
MASKS = get_exercise("masks")
SOLUTION = (ROOT / "grader" / "exercises" / "masks" / "solution.py").read_bytes()
TEMPLATE = MASKS.template_text().encode()
SHORT = ("masking",)
PATIENCE = 1_200  # twentieths of a second; only what never comes takes so long


def job(number: int, source: bytes = SOLUTION, cost: float = 0.0) -> Job:
    return Job(number, "masks", source, 7, "cpu", SHORT, cost=cost)


def fake(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put another program in place of the judges: it has `answer`, `jobs` and `settings`."""
    prelude = (
        "import json, os, sys, time\n"
        "settings = json.loads(sys.argv[1])\n"
        "def answer(**message):\n    print(json.dumps(message), flush=True)\n"
        "jobs = (json.loads(line) for line in sys.stdin)\n"
        "done = dict(state='graded', reason='', report=None, duration_s=1.0, cpu_s=1.0, memory=1.0)\n"
    )
    monkeypatch.setattr(pools, "_MAIN", prelude + script)


READY = "answer(ready=True, memory=1.0)\n"
GOOD = READY + "for job in jobs:\n    answer(id=job['id'], **{**done, 'reason': f\"{os.getpid()}\"})\n"


def run(size: int, jobs: list[Job], limits: Limits | None = None) -> dict[int, Outcome]:
    with LocalPool(size, "process", "cpu", limits) as pool:
        return {outcome.job.id: outcome for outcome in pool.run(jobs)}


@pytest.fixture(scope="module")
def real() -> Iterator[dict[int, Outcome]]:
    """What one real judge finds in a solution, a template, text that is no Python, and the solution again."""
    sources = [SOLUTION, TEMPLATE, b"def (", SOLUTION]
    with LocalPool(1, "process", "cpu") as pool:
        yield {one.job.id: one for one in pool.run([job(i, source) for i, source in enumerate(sources)])}


def test_a_real_judge_grades_one_file_after_the_other(real: dict[int, Outcome]) -> None:
    assert [real[i].state for i in range(4)] == ["graded", "graded", "unloadable", "graded"]
    first, last = real[0].report, real[3].report
    assert first is not None
    assert last is not None
    assert all(one["status"] == "passed" for one in first["results"])

    def lasting(report: dict[str, list[dict[str, object]]]) -> list[dict[str, object]]:
        return [
            {name: value for name, value in one.items() if name != "duration_s"} for one in report["results"]
        ]

    assert lasting(first) == lasting(last)
    assert "Python" in real[2].reason
    assert real[0].cpu_s > 0


def test_the_longest_job_is_graded_first(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, GOOD)
    with LocalPool(1, "process", "cpu") as pool:
        order = [one.job.id for one in pool.run([job(0, cost=1), job(1, cost=3), job(2, cost=2)])]
    assert order == [1, 2, 0]


def test_a_judge_is_replaced_after_some_files_or_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, GOOD)
    jobs = [job(i) for i in range(6)]
    assert len({one.reason for one in run(1, jobs).values()}) == 1
    assert len({one.reason for one in run(1, jobs, Limits(files=2)).values()}) == 3
    assert len({one.reason for one in run(1, jobs, Limits(memory=1.0)).values()}) == 6


def test_no_more_judges_than_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, GOOD)
    with LocalPool(8, "process", "cpu") as pool:
        found = pool.run([job(0), job(1)])
        next(found)
        assert len(pool.pids) == 2


def test_a_judge_that_dies_is_replaced_and_its_file_graded_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake(
        monkeypatch,
        f"once = {str(tmp_path / 'once')!r}\n{READY}"
        "for job in jobs:\n"
        "    if job['id'] == 1 and not os.path.exists(once):\n"
        "        open(once, 'w').close()\n"
        "        os.kill(os.getpid(), 9)\n"
        "    answer(id=job['id'], **done)\n",
    )
    found = run(2, [job(i) for i in range(4)])
    assert {number: (one.state, one.tries) for number, one in found.items()} == {
        0: ("graded", 1),
        1: ("graded", 2),
        2: ("graded", 1),
        3: ("graded", 1),
    }


def test_a_file_that_always_kills_its_judge_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    script = f"{READY}for job in jobs:\n    sys.exit('no memory') if job['id'] == 1 else answer(id=job['id'], **done)\n"
    fake(monkeypatch, script)
    found = run(1, [job(i) for i in range(3)], Limits(tries=3))
    assert (found[1].state, found[1].tries) == ("broken", 3)
    assert (
        found[1].reason
        == "The grader's process ended with exit code 1 while it graded this file, 3 times. no memory"
    )
    assert (found[0].state, found[2].state) == ("graded", "graded")


def test_a_grade_over_its_limit_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(
        monkeypatch,
        f"{READY}for job in jobs:\n    time.sleep(600 * (job['id'] == 1))\n    answer(id=job['id'], **done)\n",
    )
    found = run(2, [job(i) for i in range(3)], Limits(grade_s=0.5, tries=1))
    assert len(found) == 3
    assert found[1].state == "stopped"
    assert found[1].reason == "The grade took longer than the limit of 0.5 s, 1 time."


def test_judges_that_never_start_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, "sys.exit('no torch here')")
    with pytest.raises(GraderBrokenError, match="no torch here"):
        run(2, [job(0)])


def test_nothing_is_left_running(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, f"{READY}for job in jobs:\n    time.sleep(600)\n")
    with LocalPool(2, "process", "cpu", Limits(grade_s=0.2, tries=1)) as pool:
        next(pool.run([job(0), job(1), job(2), job(3)]))
        pids = pool.pids
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="prctl")
def test_a_judge_ends_with_the_program_that_started_it() -> None:
    script = (
        "import time\nfrom grader.classroom.pool import LocalPool\n"
        "pool = LocalPool(1, 'process', 'cpu')\npool._start()\nprint(pool.pids[0], flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT) as parent:
        assert parent.stdout is not None
        judge = Path("/proc", parent.stdout.readline().decode().strip())
        for _ in range(PATIENCE):  # until it is past its first lines: it has a fork server
            if any(text.read_text() for text in judge.glob("task/*/children")):
                break
            time.sleep(0.05)
        parent.kill()
    for _ in range(PATIENCE):
        if not judge.exists() or ") Z" in (judge / "stat").read_text():
            return
        time.sleep(0.05)
    pytest.fail("the judge goes on")


def a_grade(*results: Result) -> Grade:
    return Grade("masks", "", "masks.py", (), "cpu", 0, results, 1.0)


def test_states() -> None:
    passed = Result("t", "t", "masking", "passed", 1, 1)
    assert state_of(a_grade(passed)) == ("graded", "")
    assert state_of(a_grade(passed, Result("t", "t", "masking", "error", 0, 1, "ours")))[0] == "broken"
    assert state_of(a_grade(Result("load", "t", "behaviour", "failed", 0, 0, "x"), passed)) == (
        "unloadable",
        "x",
    )
    assert state_of(a_grade(Result("rules", "t", "behaviour", "failed", 0, 0, "x"), passed)) == (
        "refused",
        "x",
    )


@pytest.mark.slow
def test_a_file_that_is_restarted_too_often_is_stopped() -> None:
    source = b"import os\nfrom torch import Tensor\n" + b"\n".join(
        b"def %s(*args, **kwargs):\n    os._exit(%d)" % (name.encode(), place)
        for place, name in enumerate(MASKS.components)
    )
    everything = Job(0, "masks", source, 7, "cpu", tuple(one for one in CATEGORIES if one != "training"))
    with LocalPool(1, "process", "cpu") as pool:
        (outcome,) = pool.run([everything])
    assert outcome.state == "stopped"
    assert "restarted too often" in outcome.reason
