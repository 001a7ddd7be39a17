"""Engines: which there are, what they refuse, what crosses to other machines, and what becomes of lost files."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import threading
import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.classroom import engines
from grader.classroom.engines import Engine, Terms, get_engine, get_engines
from grader.classroom.plan import simulate
from grader.classroom.pool import Job, Limits, LocalPool, Outcome
from grader.classroom.slot import Slot, slot_settings
from grader.classroom.synthetic import write_class
from grader.core.results import GraderBrokenError
from tests import ROOT
from tests.grader.classroom.conftest import RIGHT, Zoo, put
from tests.grader.classroom.test_class import GRADE, done, grades
from tests.grader.classroom.test_pool import READY, fake
from tests.grader.processes import ZOO, below, wait_until
from zoo.core.errors import ZooError

posix = pytest.mark.skipif(os.name != "posix", reason="judges are fed over pipes with selectors")
JOB = Job(3, "masks", b"\xff\0x = 1\n", 7, "cpu", ("masking", "shape"), strict=True, tries=2)


def sentence(zoo: Zoo, *words: object) -> str:
    done = zoo(*GRADE, *words)
    assert done.exit_code == 2, done.output
    return " ".join(done.stderr.split())


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return put(tmp_path / "in", {"a/masks.py": "right"})


def test_an_unknown_engine_gives_the_nearest_names(zoo: Zoo, one: Path) -> None:
    assert "There is no engine 'rya'. Did you mean ray?" in sentence(zoo, "--engine", "rya")


@pytest.mark.parametrize(("name", "extra"), [("ray", "ray"), ("submitit", "slurm")])
def test_an_engine_whose_extra_is_missing_says_how_to_install_it(
    zoo: Zoo, one: Path, monkeypatch: pytest.MonkeyPatch, name: str, extra: str
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert f"`pip install 'transformer-zoo[{extra}]'`" in sentence(zoo, "--engine", name)
    assert not (one.parent / "gradebook.sqlite").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--address", "x:1"), "--address has no meaning for --engine local. It is for: ray."),
        (("--trust",), "--trust has no meaning for --engine local"),
        (("--engine", "ray", "--engine-option", "a=b"), "It is for: submitit."),
        (("--engine-option", "a"), "NAME=VALUE"),
        (("--engine", "ray"), "--sandbox process does not confine submissions"),
        (("--engine", "ray", "--trust", "--device", "cuda"), "needs --gpus-per-grade"),
        (("--engine", "submitit"), "--sandbox process does not confine submissions"),
        (("--engine", "ray", "--trust", "--address", "ray://x:1"), "expected HOST:PORT"),
        (("--engine", "submitit", "--trust", "--gpus-per-grade", "0.5"), "expected a whole number"),
    ],
)
def test_what_is_refused_before_anything_starts(
    zoo: Zoo, one: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: object())
    assert said in sentence(zoo, *words)


def test_every_engine_is_made_without_importing_what_it_requires(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(get_engines()) == ["local", "ray", "submitit"]
    for name in ("ray", "submitit"):
        monkeypatch.setitem(sys.modules, name, None)  # an import of it fails
        with replace(get_engine(name), requires="").open(Terms(sandbox="strict")) as engine:
            assert engine.level == "strict"
            assert list(engine.run([])) == []


class Mine:
    """A plugin's engine."""

    terms: Terms

    def __init__(self, terms: Terms) -> None:
        Mine.terms = terms

    level = "strict"

    def __enter__(self) -> Mine:
        return self

    def __exit__(self, *_exception: object) -> None:
        pass

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        yield from (Outcome(job, "graded", "", RIGHT) for job in jobs)


def test_an_engine_of_a_plugin(zoo: Zoo, one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Engine("mine", "", f"{__name__}:Mine", ("cpus", "options"))
    lost = Engine("lost", "", f"{__name__}:Nowhere")
    monkeypatch.setattr(engines, "get_engines", lambda: {"mine": mine, "lost": lost})
    assert zoo(*GRADE, "--engine", "mine", "--cpus-per-grade", "0.5", "--engine-option", "a=b").exit_code == 0
    assert (Mine.terms.cpus, Mine.terms.options, Mine.terms.jobs) == (0.5, {"a": "b"}, None)
    assert json.loads(zoo("class", "status", "--json").stdout)["exercises"][0]["passed"] == 1
    assert "cannot be loaded from" in sentence(zoo, "--engine", "lost")


def test_jobs_and_outcomes_cross_as_json() -> None:
    assert Job.read(JOB.message()) == JOB
    outcome = Outcome(JOB, "graded", "é", RIGHT, 1.5, 0.5, 2)
    assert Outcome.read(JOB, json.loads(outcome.message())) == outcome
    assert Outcome.read(JOB, {"state": "broken", "unknown": 1}) == Outcome(JOB, "broken")


@posix
def test_variables_of_clusters_do_not_reach_the_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_AUTH_TOKEN", "SLURM_JOB_ID", "SUBMITIT_FOLDER", "KEPT"):
        monkeypatch.setenv(name, "x")
    words = "' '.join(one for one in os.environ if os.environ[one] == 'x')"
    fake(monkeypatch, f"{READY}for job in jobs:\n    answer(id=job['id'], **{{**done, 'reason': {words}}})\n")
    with LocalPool(1, "process", "cpu") as pool:
        (outcome,) = pool.run([JOB])
    assert outcome.reason == "KEPT"
    assert outcome.tries == JOB.tries


@posix
def test_judges_are_not_started_from_a_thread_that_may_end() -> None:
    """On Linux they would end with it."""
    errors: list[str] = []

    def run() -> None:
        try:
            with LocalPool(1, "process", "cpu") as pool:
                list(pool.run([JOB]))
        except GraderBrokenError as error:
            errors.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert errors == ["Processes for grading must be started from the main thread."]


@posix
def test_a_slot_counts_no_tries_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, f"{READY}for job in jobs:\n    sys.exit(3)\n")
    slot = Slot(slot_settings("process", "cpu", Limits(tries=5), ["masks"]))
    outcome = Outcome.read(JOB, json.loads(slot.grade(JOB.message().decode())))
    slot.close()
    assert (outcome.state, outcome.lost, outcome.tries) == ("broken", True, 2)
    assert "2 times" in outcome.reason


def test_a_slot_on_a_node_with_another_version_must_not_grade() -> None:
    settings = json.loads(slot_settings("process", "cpu", Limits(), ["masks"]))
    assert json.loads(Slot(json.dumps(settings)).check())["refusal"] == ""
    for name in settings["versions"]:
        other = {**settings, "versions": {**settings["versions"], name: "0"}}
        assert f"another version of {name}" in json.loads(Slot(json.dumps(other)).check())["refusal"]


def test_a_slot_on_a_node_without_a_strict_sandbox_must_not_grade(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.sandbox.sandbox.Canary.verdict", lambda _canary: "a trial process could sing")
    slot = Slot(slot_settings("strict", "cpu", Limits(), []))
    assert "a trial process could sing" in json.loads(slot.check())["refusal"]


class FakeRay(types.ModuleType):
    """Ray in one process: each call of an actor is answered when it is waited for, by `self.answers`."""

    class exceptions:
        class RayError(Exception):
            pass

    def __init__(self, answers: Callable[[str, str], str]) -> None:
        super().__init__("ray")
        self.answers, self.asked, self.killed = answers, deque[tuple[str, str]](), 0

    def remote(self, _kind: type) -> Any:
        def call(name: str) -> Any:
            def remote(text: str = "") -> tuple[str, str, object]:
                return name, text, object()

            return types.SimpleNamespace(remote=remote)

        handle = types.SimpleNamespace(check=call("check"), grade=call("grade"))
        return types.SimpleNamespace(
            options=lambda **_: types.SimpleNamespace(remote=lambda _settings: handle)
        )

    def wait(self, references: list[Any], **_given: Any) -> tuple[list[Any], list[Any]]:
        return references[:1], references[1:]

    def get(self, reference: tuple[str, str, object]) -> str:
        return self.answers(reference[0], reference[1])

    def kill(self, _handle: object) -> None:
        self.killed += 1


def driven(
    monkeypatch: pytest.MonkeyPatch, answers: Callable[[str, str], str], tries: int
) -> list[dict[str, Any]]:
    """What the process with Ray in it answers to one job."""
    from grader.classroom import ray_driver

    fake_ray = FakeRay(answers)
    monkeypatch.setitem(sys.modules, "ray", fake_ray)
    found: list[dict[str, Any]] = []
    settings = {"cpus": 1.0, "gpus": 0.0, "memory": 0, "tries": tries, "grade_s": 1.0, "slot": "{}"}
    run = ray_driver._Run(settings, lambda line: found.append(json.loads(line)))
    run._slots = 1
    run._start()
    run._given.put(Job(1, "masks", b"", 0, "cpu", ()).message())
    for _ in range(20):
        run._step()
        if found:
            break
    return found


def test_files_of_lost_actors_are_graded_again_a_few_times_and_then_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun: list[int] = []

    def answers(call: str, text: str) -> str:
        if call == "check":
            return json.dumps({"node": "n1", "pid": 1, "refusal": ""})
        begun.append(json.loads(text)["tries"])
        if len(begun) < 3:
            raise FakeRay.exceptions.RayError("The actor died.\nA long story.")
        return Outcome(Job.read(text), "graded", tries=len(begun)).message().decode()

    (found,) = driven(monkeypatch, answers, tries=2)
    assert (found["state"], found["tries"], begun) == ("broken", 2, [1, 2])
    assert (
        found["reason"]
        == "The grader's process on n1 was lost while it graded this file. RayError: The actor died."
    )
    begun.clear()
    (found,) = driven(monkeypatch, answers, tries=3)
    assert (found["state"], found["tries"], begun) == ("graded", 3, [1, 2, 3])


def test_a_node_that_must_not_grade_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = json.dumps({"node": "n1", "pid": 1, "refusal": "It sings."})
    with pytest.raises(ZooError, match=r"Node n1 must not grade\. It sings\."):
        driven(monkeypatch, lambda _call, _text: refused, tries=2)


def test_actors_that_never_start_end_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(_call: str, _text: str) -> str:
        raise FakeRay.exceptions.RayError("no torch here")

    with pytest.raises(GraderBrokenError, match=r"do not start\. RayError: no torch here"):
        driven(monkeypatch, answers, tries=2)


@pytest.mark.parametrize(
    ("code", "output", "said"),
    [
        (0, "", "takes orders without a token"),
        (1, "RpcError Unavailable\n", "asks for a token. RpcError Unavailable"),
        (1, "AuthenticationError RPC error: InvalidAuthToken: Authentication token is missing\n", ""),
    ],
)
def test_a_cluster_that_does_not_ask_for_a_token_is_refused(
    monkeypatch: pytest.MonkeyPatch, code: int, output: str, said: str
) -> None:
    from grader.classroom.ray_driver import refuse_open_cluster

    def run(_command: list[str], env: dict[str, str], **_given: object) -> subprocess.CompletedProcess[str]:
        assert [one for one in env if one.startswith("RAY_AUTH")] == ["RAY_AUTH_MODE"]
        return subprocess.CompletedProcess([], code, output, "")

    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret")
    monkeypatch.setattr(subprocess, "run", run)
    if said:
        with pytest.raises(ZooError, match=re.escape(said)):
            refuse_open_cluster("h:1")
    else:
        refuse_open_cluster("h:1")


def test_the_plan() -> None:
    assert simulate([1.0], 10, 2, start=3.0) == 8.0
    assert simulate([4.0, 1.0, 1.0, 1.0, 1.0], 5, 2, start=0.0) == 4.0  # the longest first
    assert simulate([1.0], 4, 1, start=1.0, replaced=2) == 6.0
    assert simulate([1.0], 3, 200, start=1.0) == 2.0


def test_a_plan_on_the_command_line(zoo: Zoo, one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.classroom.plan.start_cost", lambda _exercise: 2.0)
    monkeypatch.setattr(
        Mine, "run", lambda _self, jobs: (Outcome(job, "graded", "", RIGHT, 2, 4) for job in jobs)
    )
    monkeypatch.setattr(engines, "get_engines", lambda: {"mine": Engine("mine", "", f"{__name__}:Mine")})
    assert zoo("class", "plan").exit_code == 2
    assert zoo(*GRADE, "--engine", "mine").exit_code == 0
    (row,) = json.loads(zoo("class", "plan", "--files", "900", "--cores", "1", "--json").stdout)["plan"]
    assert row["hours"] == pytest.approx((900 * 4 + 9 * 2) / 3_600)
    assert "30,000" in zoo("class", "plan").stdout
    assert zoo("class", "plan", "--files", "0").exit_code == 2


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc")
@pytest.mark.skipif(
    importlib.util.find_spec("submitit") is None, reason="needs submitit: transformer-zoo[slurm]"
)
def test_submitit_grades_as_the_local_pool_though_a_job_is_killed(tmp_path: Path) -> None:
    write_class(tmp_path / "c", students=6, seed=8, exercises=("masks",), hostile=0.0)
    command = [*ZOO, "class", "grade", "c/submissions", "--seed", "1", "--skip", "training"]
    given: dict[str, Any] = {"cwd": tmp_path, "env": {**os.environ, "PYTHONPATH": str(ROOT)}, "text": True}
    subprocess.run([*command, "--jobs", "1", "--gradebook", "local"], **given, check=True)
    far = [
        *command,
        "--jobs",
        "1",
        "--gradebook",
        "far",
        "--engine",
        "submitit",
        "--engine-option",
        "cluster=local",
    ]
    with subprocess.Popen(far, **given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as run:
        assert wait_until(lambda: done(tmp_path / "far") > 0)
        workers = [
            pid
            for pid in below(run.pid)
            if b"submitit.core._submit" in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        output, _ = run.communicate()
    assert workers
    assert run.returncode == 0, output
    assert grades(tmp_path / "far") == grades(tmp_path / "local")
    assert not list(tmp_path.glob("zoo-submitit-*"))
