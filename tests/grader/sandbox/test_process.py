"""The worker process: what it starts with, how it ends, and that nothing of it stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grader.core.submission import SubmissionError
from grader.sandbox.process import Limits, Worker
from grader.sandbox.remote import RemoteSubmission
from tests.grader.processes import gone, wait_until

QUICK = Limits(request_s=20.0)


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


LOOK_AROUND = b"""
import os, signal

def look():
    names = sorted(os.environ)
    open_ones = []
    for number in range(3, 200):
        try:
            os.fstat(number)
            open_ones.append(number)
        except OSError:
            pass
    return names, open_ones, os.getcwd(), os.getpgid(0) == os.getpid(), os.listdir(".")

def refused(name):
    try:
        __import__(name)
    except ImportError as error:
        return str(error)

def stay():
    pid = os.fork()
    if pid == 0:
        signal.pause()
    return pid
"""


def test_it_starts_with_nothing_of_the_judges(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SECRET", "x")
    before = descriptors()
    with (tmp_path / "open").open("wb") as inherited, Worker(limits=QUICK) as worker:
        os.set_inheritable(inherited.fileno(), True)
        submission = RemoteSubmission(worker, LOOK_AROUND, "a.py")
        names, open_ones, folder, leads_group, content = submission.function("look").call([]).value
        assert set(names) <= {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "LC_CTYPE"}
        assert len(open_ones) == 2
        assert (leads_group, content) == (True, [])
        for name in ("zoo", "grader", "grader.exercises.attention.solution"):
            message = submission.function("refused").call([name]).value
            assert message is not None
            assert "may import torch, numpy and the standard library" in message
        assert submission.function("refused").call(["json"]).value is None
        child = submission.function("stay").call([]).value
        assert not gone(child)
    assert wait_until(lambda: gone(child))
    assert wait_until(lambda: gone(worker.pid))
    assert not Path(folder).exists()
    assert descriptors() == before
    worker.close()


def test_starting_it_neither_waits_nor_imports_torch() -> None:
    code = (
        "import sys; from grader.sandbox.process import Worker; w = Worker()\n"
        "assert w.alive and 'torch' not in sys.modules and 'numpy' not in sys.modules; w.close()"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, env={**os.environ}, timeout=60)


CONVERSATION = b"""
from torch import nn
class Part(nn.Linear):
    def __init__(self): super().__init__(2, 2)
"""


@pytest.mark.slow
def test_killed_at_any_message_it_is_an_error_of_the_submission_and_leaves_nothing() -> None:
    import torch

    x = torch.ones(1, 2)
    before, at = descriptors(), 0
    while True:
        worker = Worker(limits=QUICK)
        sent = 0
        ask = worker.request

        def request(*args: object, sabotaged: int = at, **kwargs: object) -> object:
            nonlocal sent
            if sent == sabotaged:
                os.kill(worker.pid, signal.SIGKILL)  # noqa: B023 - used within this round
            sent += 1
            return ask(*args, **kwargs)  # type: ignore[arg-type]  # noqa: B023

        worker.request = request  # type: ignore[method-assign]
        try:
            submission = RemoteSubmission(worker, CONVERSATION, "a.py")
            part = submission.construct("Part", [])
            part.parameters()
            outcome = part.call([x], grad=[0])
            part.backward(outcome, [x])
        except SubmissionError as error:
            assert (error.kind, error.fatal) == ("died", True)  # noqa: PT017 - the last round raises none
            assert not worker.alive
            assert gone(worker.pid)
            assert descriptors() == before
        else:
            worker.close()
            break
        at += 1
    assert at == 5


@pytest.mark.slow
def test_the_judge_killed_the_worker_dies() -> None:
    code = (
        "import os, signal; from grader.sandbox.process import Worker\n"
        "from grader.sandbox.remote import RemoteSubmission\n"
        "w = Worker(); s = RemoteSubmission(w, b'def f():\\n  while True: pass', 'a.py')\n"
        "print(w.pid, flush=True); os.fork() or os.kill(os.getppid(), signal.SIGKILL); s.function('f').call([])"
    )
    judge = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    assert judge.stdout is not None
    pid = int(judge.stdout.readline())
    judge.wait(timeout=60)
    judge.stdout.close()
    assert judge.returncode == -signal.SIGKILL
    assert wait_until(lambda: gone(pid))


@pytest.mark.parametrize("when", ["import", "forward"])
@pytest.mark.sampled(2)
def test_an_endless_loop_is_stopped_also_with_signals_ignored(when: str) -> None:
    source = (
        b"import signal\nfor s in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU): signal.signal(s, signal.SIG_IGN)\n"
        b"def f():\n  while True: pass\n"
    )
    worker = Worker(limits=Limits(request_s=2.0))
    with pytest.raises(SubmissionError, match="no answer within 2 s") as caught:
        RemoteSubmission(worker, source + b"f()" * (when == "import"), "a.py").function("f").call([])
    assert (caught.value.kind, caught.value.fatal, worker.alive) == ("timeout", True, False)
    assert (caught.value.line, caught.value.source_line) == (4, "while True: pass")
    assert gone(worker.pid)


@pytest.mark.slow
@pytest.mark.parametrize("caught_by", ["except BaseException: pass", "except: pass"])
def test_an_endless_loop_that_does_not_let_itself_be_stopped_has_no_line(caught_by: str) -> None:
    source = f"def f():\n  while True:\n    try:\n      while True: sum(range(9))\n    {caught_by}\n"
    worker = Worker(limits=Limits(request_s=1.0))
    with pytest.raises(SubmissionError, match="no answer within 1 s") as caught:
        RemoteSubmission(worker, source.encode(), "a.py").function("f").call([])
    assert (caught.value.kind, caught.value.line, worker.alive) == ("timeout", None, False)
    assert gone(worker.pid)


@pytest.mark.parametrize(
    "code",
    [
        "os.kill(os.getpid(), signal.SIGURG)",
        "signal.signal(signal.SIGURG, signal.SIG_IGN)\n  while True: pass",
        "signal.signal(signal.SIGURG, lambda *_: os._exit(0))\n  while True: pass",
        "sys.settrace(lambda *_: None)\n  signal.raise_signal(signal.SIGURG)",
    ],
)
@pytest.mark.sampled(4)
def test_who_stops_itself_is_stopped(code: str) -> None:
    worker = Worker(limits=Limits(request_s=1.0))
    source = f"import os, signal, sys\ndef f():\n  {code}\n"
    with pytest.raises(SubmissionError) as caught:
        RemoteSubmission(worker, source.encode(), "a.py").function("f").call([])
    assert caught.value.kind in ("timeout", "died", "exception")
    worker.close()
    assert gone(worker.pid)


@pytest.mark.slow
def test_too_much_cpu_time_is_a_limit() -> None:
    worker = Worker(limits=Limits(cpu_s=5))
    with pytest.raises(SubmissionError, match="5 s of CPU time") as caught:
        RemoteSubmission(worker, b"while True: pass", "a.py")
    assert caught.value.kind == "limit"


def test_all_answers_together_have_a_time_too() -> None:
    with Worker(limits=Limits(total_s=1.0)) as worker:
        submission = RemoteSubmission(worker, b"import time\ndef f(): time.sleep(0.4)", "a.py")
        part = submission.function("f")
        with pytest.raises(SubmissionError, match="together took more than 1 s") as caught:
            [part.call([]) for _ in range(5)]
        assert caught.value.kind == "timeout"


def test_a_process_that_is_closed_says_so() -> None:
    worker = Worker()
    worker.close()
    with pytest.raises(SubmissionError, match="ended before"):
        worker.request({"op": "has"}, doing="looking for it")
