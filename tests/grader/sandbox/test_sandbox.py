"""Levels: what the canary finds, what is chosen, and what a grade says of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import torch

from grader.core.results import GraderBrokenError
from grader.sandbox import sandbox as module
from grader.sandbox.launch import package_paths
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Canary, Sandbox
from grader.worker.canary import ACTS
from grader.worker.confinement import landlock
from tests import ROOT, solution_file
from tests.grader.processes import below, gone, stat, wait_until
from zoo.core.errors import ZooError

strict_only = pytest.mark.skipif(
    not sys.platform.startswith("linux") or not landlock.version(), reason="needs Linux with Landlock"
)


@strict_only
def test_nothing_comes_off_in_strict() -> None:
    canary = Canary("strict")
    assert canary.report() == {"done": []}
    assert canary.verdict() == ""


@strict_only
def test_without_it_the_acts_do_come_off() -> None:
    canary = Canary("process")
    done = set(canary.report()["done"])
    assert done <= ACTS.keys()
    assert done >= {"read the grader's files", "list the home folder", "write outside its folder", "fork"}
    assert done >= {
        "run a program",
        "run a program from memory",
        "signal the judge",
        "connect by TCP",
        "send by UDP",
        "outlive the judge",
    }
    assert "a trial process could" in canary.verdict()


def test_without_a_place_for_temporary_files_it_is_the_graders_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", list)
    with (
        Sandbox() as sandbox,
        pytest.raises(GraderBrokenError, match="A temporary file, which a grade needs, cannot be created"),
    ):
        sandbox.level("cpu")


def changed_canary(
    monkeypatch: pytest.MonkeyPatch, change: str, device: str = "cpu", **variables: str
) -> Canary:
    """The trial with another line of code first, and with variables in its environment."""
    code = (
        "import json, os, sys, threading\nfrom pathlib import Path\nfrom grader.worker import canary\n"
        "from grader.worker.confinement import cuda, landlock, seccomp\n"
        f"{change}\ncanary.main(json.loads(sys.argv[1]))"
    )
    monkeypatch.setattr(
        module,
        "start",
        lambda _role, settings, **_: subprocess.Popen(
            [sys.executable, "-c", code, json.dumps(settings)],
            stdout=subprocess.PIPE,
            env={"OMP_NUM_THREADS": "1", **variables},
            cwd=ROOT,
        ),
    )
    return Canary(device=device)


@strict_only
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.slow)])
def test_each_part_is_needed(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A level from which one part is missing does not hold."""
    for part in ("landlock", "seccomp"):
        change = f"canary._use_card = lambda: None; {part}.restrict = lambda *args: None"
        canary = changed_canary(monkeypatch, change, device)
        done = canary.report()["done"]
        assert done, part
        assert canary.verdict().startswith("a trial process could ")


@strict_only
def test_a_process_that_starts_counts_although_it_cannot_be_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loose = "canary.syscalls.ALLOWED['clone'] = (56, 220); seccomp._CLONE = (0x1200011,)  # fork's flags"
    assert changed_canary(monkeypatch, loose).report() == {"done": ["fork"]}


# In place of a card: what its driver and torch do with threads and memory.
AS_IF_ON_A_CARD = """
def use():
    import torch
    ones = torch.ones(8, 8, requires_grad=True)
    thread = threading.Thread(target=lambda: (ones @ ones).sum().backward())
    thread.start()
    thread.join()
    assert ones.grad.sum() == 2 * 8**3
    os.close(os.memfd_create("driver"))
canary._use_card = use
"""


@strict_only
@pytest.mark.slow
def test_the_rules_for_cuda_hold_once_the_card_is_in_use(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a card: files stand for the devices, and the trial does without the driver. Each act is still tried."""
    (tmp_path / "nvidia0").touch()
    (tmp_path / "nvidia1").touch()
    change = f"cuda.DEVICES = Path({str(tmp_path)!r})\n{AS_IF_ON_A_CARD}"
    chosen = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "1"}
    assert changed_canary(monkeypatch, change, "cuda", **chosen).report() == {"done": []}
    for loose, act in (
        (
            "cuda.devices = lambda: [*map(str, Path(cuda.DEVICES).iterdir())]",
            "open a GPU that was not chosen",
        ),
        ("seccomp._CLONE = (0x3D0F00, 0x1200011)", "fork"),
        ("cuda.TASKS = '/proc'", "read the judge's command line"),
        ("canary.syscalls.ALLOWED['execveat'] = (322, 281)", "run a program from memory"),
    ):
        canary = changed_canary(monkeypatch, f"{change}\n{loose}", "cuda", **chosen)
        assert canary.report().get("done") == [act], loose


@strict_only
@pytest.mark.slow
def test_a_card_that_cannot_be_used_when_confined_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    fails = "def use(): raise RuntimeError('CUDA error: OS call failed\\nFor debugging, pass CUDA_LAUNCH_BLOCKING=1')"
    canary = changed_canary(monkeypatch, f"{fails}\ncanary._use_card = use", "cuda")
    assert canary.verdict() == "CUDA cannot be used in a confined process: CUDA error: OS call failed"


def test_the_level_is_the_best_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    for reason, level in (("", "strict"), ("a trial process could fork", "process")):
        monkeypatch.setattr(Canary, "verdict", lambda _, reason=reason: reason)
        with Sandbox("auto") as sandbox:
            assert sandbox.level("cpu") == level
            assert sandbox.level("cuda") == level
            assert sandbox.fallback_reason("cuda") == reason
        with Sandbox("process") as sandbox:
            assert sandbox.level("cpu") == "process"
            assert sandbox.fallback_reason("cpu") == ""


def test_strict_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Canary, "verdict", lambda _: "a trial process could fork")
    with Sandbox("strict") as sandbox:
        with pytest.raises(ZooError, match="strict is not available here: a trial process could fork"):
            sandbox.level("cpu")
        with pytest.raises(ZooError, match="Try --device=cpu"):
            sandbox.worker("cuda")


@strict_only
@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="here is a card")
def test_on_cuda_the_canary_also_tries_the_card() -> None:
    assert Canary(device="cuda").verdict().startswith("CUDA cannot be used in a confined process: ")


@pytest.mark.gpu
def test_what_holds_on_a_card_is_one_of_two_levels_with_a_reason() -> None:
    canary = Canary(device="cuda")
    assert canary.report() == {"done": []} or canary.verdict(), "strict, or why not"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("", "ended before it could report"),
        ("[]", "ended before it could report"),
        ('{"refused": "Landlock: Function not implemented"}', "Landlock: Function not implemented"),
        ('{"done": ["fork", "run a program"]}', "a trial process could fork, run a program"),
    ],
)
def test_a_canary_that_says_less_than_all_is_well_is_believed(
    monkeypatch: pytest.MonkeyPatch, said: str, reason: str
) -> None:
    code = f"print({said!r}, end='')"
    monkeypatch.setattr(
        module,
        "start",
        lambda *_, **__: subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE),
    )
    assert reason in Canary().verdict()


def test_one_look_for_all_grades(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Counted(Canary):
        def __init__(self, device: str) -> None:
            made.append(self)
            super().__init__(device=device)

    monkeypatch.setattr(module, "Canary", Counted)
    with Sandbox() as sandbox:
        for _ in range(2):
            with sandbox.worker("cpu") as worker:
                submission = RemoteSubmission(worker, b"def f(): return 3", "a.py")
                assert submission.function("f").call([]).value == 3
    assert len(made) == 1


def zoo(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "from zoo.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )


@pytest.mark.slow
def test_the_report_says_which() -> None:
    solution = str(solution_file("attention"))
    done = zoo("grade", solution, solution, "--exercise=attention", "--only=shape", "--format=json")
    assert done.returncode == 0, done.stderr
    with Sandbox() as sandbox:
        level = sandbox.level("cpu")
    assert [one["sandbox"] for one in json.loads(done.stdout)] == [level, level]
    page = zoo("grade", solution, "--exercise=attention", "--only=shape", "--sandbox=process").stdout
    assert "sandbox process" in " ".join(page.split())


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at /proc")
@pytest.mark.parametrize("level", ["process", "auto"])
def test_a_grade_killed_leaves_no_process_no_folder_and_no_progress(tmp_path: Path, level: str) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    (home / "attention.py").write_text("open('here', 'w').close()\nwhile True: pass\n")
    code = "from zoo.cli import main; main()"
    judge = subprocess.Popen(
        [sys.executable, "-c", code, "grade", "attention.py", f"--sandbox={level}"],
        cwd=home,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: bool(list(temporary.glob("zoo-*/here"))))
    left = below(judge.pid)
    judge.kill()
    judge.wait(timeout=60)
    assert len(left) == 2  # the fork server, and the worker
    wait_until(lambda: not list(temporary.iterdir()) and all(map(gone, left)))
    assert list(temporary.iterdir()) == []
    assert [stat(pid) for pid in left if not gone(pid)] == []
    assert [one.name for one in home.iterdir()] == ["attention.py"]


def test_torch_can_be_found_without_importing_it() -> None:
    code = (
        "import sys; from grader.sandbox.sandbox import Sandbox\n"
        "Sandbox().start(); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert package_paths()
