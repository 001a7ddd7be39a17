"""The fork server: workers forked from one process, their ends, its own end, and what stays behind: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from grader.core.results import GraderBrokenError
from grader.core.submission import SubmissionError
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.process import Limits, Worker
from grader.sandbox.remote import RemoteSubmission
from grader.worker import scratch
from tests.grader.processes import gone, wait_until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux only")

CODE = b"""
import os, time
from torch import nn

class Part(nn.Linear):
    def __init__(self): super().__init__(2, 2)

def look():
    open_ones = [n for n in range(3, 60) if os.path.exists(f"/proc/self/fd/{n}") or is_open(n)]
    return sorted(os.environ), len(open_ones), os.getcwd(), os.getpgid(0) == os.getpid(), os.listdir("."), os.getppid()

def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True

def leave():
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        time.sleep(600)
    os.waitpid(pid, 0)

def end(): os._exit(7)
def fill(size, count):
    for n in range(count):
        with open(str(n), "wb") as file: file.write(bytes(size))
    time.sleep(60)
def dig():
    for n in range(3000):
        os.mkdir("d"); os.chdir("d")
def answer(): return 42
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other workers on this machine have theirs elsewhere."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def folders() -> set[str]:
    """Working directories of workers."""
    return {one.name for one in Path(tempfile.gettempdir()).iterdir()}


def children(pid: int) -> set[int]:
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    own = ForkServer()
    yield own
    own.close()


def load(server: ForkServer, level: str = "process", **limits: float) -> tuple[Worker, RemoteSubmission]:
    worker = Worker(limits=Limits(**limits), level=level, server=server)  # type: ignore[arg-type]
    return worker, RemoteSubmission(worker, CODE, "a.py")


@pytest.mark.parametrize("level", ["process", "strict"])
def test_a_worker_starts_with_nothing_and_leaves_nothing(server: ForkServer, level: str) -> None:
    worker, submission = load(server, level)
    names, open_ones, folder, leads, content, parent = submission.function("look").call([]).value
    assert set(names) <= {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "LC_CTYPE"}
    assert (open_ones, leads, content, parent) == (2, True, [], server.pid)
    assert Path(folder).name in folders()
    pid = worker.pid
    worker.close()
    assert gone(pid)
    assert not Path(folder).exists()
    assert server.pid is not None
    assert children(server.pid) == set()


def test_its_memory_and_environment_are_its_own(server: ForkServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "never to be seen")
    own = ForkServer()
    try:
        own.start()
        assert own.pid is not None
        assert b"SECRET" not in Path(f"/proc/{own.pid}/environ").read_bytes()
        load(own)[0].close()
        assert len(os.listdir(f"/proc/{own.pid}/fd")) == 4  # noqa: PTH208 - 0 to 2, and the socket
    finally:
        own.close()


def test_two_workers_at_once_know_nothing_of_one_another(server: ForkServer) -> None:
    (first, one), (second, other) = load(server), load(server)
    assert one.function("look").call([]).value[2] != other.function("look").call([]).value[2]
    os.kill(first.pid, signal.SIGKILL)
    with pytest.raises(SubmissionError, match="signal 9"):
        one.function("answer").call([])
    assert other.function("answer").call([]).value == 42
    second.close()


def test_how_it_ended_is_told(server: ForkServer) -> None:
    _, submission = load(server)
    with pytest.raises(SubmissionError, match="exit code 7") as caught:
        submission.function("end").call([])
    assert (caught.value.kind, caught.value.fatal) == ("died", True)


def test_what_a_submission_leaves_behind_is_ended(server: ForkServer) -> None:
    worker, submission = load(server)
    assert server.pid is not None
    before = children(server.pid)
    submission.function("leave").call([])
    left = children(server.pid) - before
    assert len(left) == 1
    worker.close()
    assert all(gone(pid) for pid in left)


@pytest.mark.parametrize(("size", "count"), [(2**24, 9), (0, 2000)])
@pytest.mark.parametrize("level", ["process", "strict"])
def test_a_folder_has_its_limit(server: ForkServer, level: str, size: int, count: int) -> None:
    before = folders()
    _, submission = load(server, level)
    with pytest.raises(SubmissionError, match="wrote more than 64 MB or 1,000 files") as caught:
        submission.function("fill").call([size, count])
    assert caught.value.kind == "limit"
    assert folders() == before


@pytest.mark.slow
@pytest.mark.parametrize("level", ["process", "strict"])
def test_a_deep_folder_is_removed(server: ForkServer, level: str) -> None:
    before = folders()
    worker, submission = load(server, level)
    try:
        submission.function("dig").call([])
    except SubmissionError as error:
        assert error.kind == "limit"  # noqa: PT017 - it may be noticed in time
    worker.close()
    assert folders() == before


def test_removal_needs_no_permissions(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").touch(mode=0)
    (folder / "link").symlink_to(tmp_path)
    (folder / "a" / "b").chmod(0)
    (folder / "a").chmod(0)
    scratch.remove(str(folder))
    assert list(tmp_path.iterdir()) == []
    scratch.remove(str(folder))  # harmless when repeated


@pytest.mark.slow
def test_killed_at_any_message_it_is_an_error_and_the_next_grade_has_a_new_one(server: ForkServer) -> None:
    import torch

    at, before = 0, folders()
    while True:
        worker = Worker(server=server, level="strict")
        sent = 0
        ask = worker.request

        def request(*args: object, sabotaged: int = at, **kwargs: object) -> object:
            nonlocal sent
            if sent == sabotaged:
                pids = (worker.pid, server.pid or 0)  # noqa: B023
                os.kill(pids[1], signal.SIGKILL)
                assert wait_until(lambda: all(map(gone, pids)))
            sent += 1
            return ask(*args, **kwargs)  # type: ignore[arg-type]  # noqa: B023

        worker.request = request  # type: ignore[method-assign]
        try:
            submission = RemoteSubmission(worker, CODE, "a.py")
            part = submission.construct("Part", [])
            part.parameters()
            part.call([torch.ones(1, 2)])
        except SubmissionError as error:
            assert (error.kind, error.fatal) == ("died", True)  # noqa: PT017 - the last round raises none
            assert folders() == before
        else:
            worker.close()
            break
        at += 1
    assert at == 4


def test_killed_before_it_can_fork_the_next_one_can() -> None:
    own = ForkServer()
    worker = Worker(server=own)
    assert own.pid is not None
    os.kill(own.pid, signal.SIGKILL)
    with pytest.raises(SubmissionError, match="killed before any of your code ran") as caught:
        RemoteSubmission(worker, CODE, "a.py")
    assert (caught.value.kind, caught.value.fatal, own.pid) == ("died", True, None)
    worker, submission = load(own)
    assert submission.function("answer").call([]).value == 42
    own.close()
    with pytest.raises(SubmissionError, match="signal 9"):
        submission.function("answer").call([])


def test_one_that_cannot_start_is_the_graders_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.sandbox.fork_server.package_paths", list)
    own = ForkServer()
    with pytest.raises(GraderBrokenError, match="No module named 'torch'"):
        load(own)
    own.close()


@pytest.mark.parametrize("forked", [False, True])
def test_no_room_for_files_is_the_graders_fault(
    forked: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = ForkServer()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(GraderBrokenError, match="A temporary file, which a grade needs, cannot be created"):
        Worker(server=own if forked else None)
    monkeypatch.setattr(tempfile, "TemporaryFile", partial(tempfile.TemporaryFile, dir=tmp_path))
    with pytest.raises(GraderBrokenError, match=r"could not start: .*No such file"):  # noqa: PT012
        worker = Worker(server=own if forked else None)
        RemoteSubmission(worker, CODE, "a.py")
    assert (own.pid is not None) is forked  # it serves on
    own.close()


JUDGE = """
import sys, time
from grader.sandbox.fork_server import ForkServer
from grader.sandbox.process import Worker
from grader.sandbox.remote import RemoteSubmission
server = ForkServer()
server.start()
if {loaded}:
    worker = Worker(server=server, level="{level}")
    submission = RemoteSubmission(worker, b"open('file', 'w').close()\\ndef f():\\n  while True: pass", "a.py")
    print(server.pid, worker.pid, flush=True)
    submission.function("f").call([])
print(server.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("level", "loaded"), [("process", True), ("strict", True), ("none yet", False)])
def test_the_judge_killed_nothing_is_left(level: str, loaded: bool) -> None:
    before = folders()
    judge = subprocess.Popen(
        [sys.executable, "-c", JUDGE.format(loaded=loaded, level=level)], stdout=subprocess.PIPE
    )
    assert judge.stdout is not None
    pids = list(map(int, judge.stdout.readline().split()))
    assert len(pids) == 1 + loaded
    judge.kill()
    judge.wait(timeout=60)
    judge.stdout.close()
    assert wait_until(lambda: all(gone(pid) for pid in pids))
    assert wait_until(lambda: folders() == before)


@pytest.mark.slow
def test_two_hundred_submissions_leave_no_more_than_ten(server: ForkServer) -> None:
    def submit() -> None:
        worker, submission = load(server, "strict")
        assert submission.function("answer").call([]).value == 42
        worker.close()

    def held() -> tuple[int, int, int, int]:
        """Descriptors of the fork server and of the judge, and memory of both, in kB."""
        status = [Path(f"/proc/{pid}/status").read_text() for pid in (server.pid, "self")]
        memory = [int(one.partition("VmRSS:")[2].split()[0]) for one in status]
        own = len(list(Path("/proc/self/fd").iterdir()))
        return len(list(Path(f"/proc/{server.pid}/fd").iterdir())), own, *memory  # type: ignore[return-value]

    for _ in range(10):
        submit()
    assert server.pid is not None
    before, start = held(), folders()
    for _ in range(200):
        submit()
    after = held()
    assert after[:2] == before[:2]
    assert after[2] < before[2] + 4096
    assert after[3] < before[3] + 4096
    assert folders() == start
    assert children(server.pid) == set()
