"""Worker processes: results in order, failures and deaths as sentences, and nobody left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import ROOT
from zoo.analysis.workers import Call, Result, Workers, attempt
from zoo.core.errors import CombinationError, ZooError


def double(number: int) -> int:
    return 2 * number


def where() -> tuple[int, int]:
    """The process, and the threads that torch uses in it."""
    import torch

    return os.getpid(), torch.get_num_threads()


def hears_ctrl_c() -> bool:
    time.sleep(0.3)  # so that each worker has one
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def fail(kind: str) -> None:
    raise {"zoo": ZooError, "combination": CombinationError, "other": KeyError}[kind](f"a {kind} error")


def die(how: int) -> None:
    if how < 0:
        os.kill(os.getpid(), -how)
    os._exit(how)


FAILURES = {
    Call(fail, ("zoo",)): Result(problem="a zoo error"),
    Call(fail, ("combination",)): Result(problem="a combination error", refused=True),
    Call(fail, ("other",)): Result(problem="KeyError: 'a other error'"),
    Call(sys.exit, (0,)): Result(problem="SystemExit: 0"),
}


class TestAlone:
    def test_what_is_returned_and_what_is_raised(self) -> None:
        assert attempt(Call(double, (4,))) == Result(8)
        for call, result in FAILURES.items():
            assert attempt(call) == result

    def test_ctrl_c_is_not_swallowed(self) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), Workers(1) as workers:
            workers.run([Call(interrupt, ())])

    @pytest.mark.parametrize("in_thread", [False, True])
    def test_ctrl_c_while_a_worker_starts_comes_when_it_can_be_ended(
        self, in_thread: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Starting:
            ended = False

            def __init__(self) -> None:
                # to one thread: sent to the process, any thread may hear it, at any later time
                if in_thread:
                    thread = threading.Thread(target=hear_ctrl_c)
                    thread.start()
                    thread.join()
                else:
                    signal.raise_signal(signal.SIGINT)

            def kill(self) -> None:
                Starting.ended = True

        monkeypatch.setattr("zoo.analysis.workers._Worker", Starting)
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            with pytest.raises(KeyboardInterrupt), Workers(2) as workers:
                workers.run([Call(double, (1,))])
        finally:
            signal.signal(signal.SIGINT, before)
        assert Starting.ended

    def test_one_job_needs_no_process(self) -> None:
        done: list[tuple[int, Result]] = []
        with Workers(1) as workers:
            found = workers.run([Call(double, (4,)), Call(where, ())], lambda *one: done.append(one))
            assert workers.workers == []
        assert found[0] == Result(8)
        assert found[1].value[0] == os.getpid()
        assert done == list(enumerate(found))
        assert Workers(1).run([]) == []


@pytest.mark.slow
class TestSpread:
    def test_results_come_in_order_from_processes_of_one_thread_which_are_used_again(self) -> None:
        with Workers(2) as workers:
            numbers = workers.run([Call(double, (n,)) for n in range(20)])
            places = {one.value for one in workers.run([Call(where, ())] * 8)}
            again = {one.value for one in workers.run([Call(where, ())] * 8)}
            processes = [worker.process for worker in workers.workers]
        assert [one.value for one in numbers] == [2 * n for n in range(20)]
        assert len(processes) == 2
        assert again <= places
        assert {threads for _, threads in places} == {1}
        assert os.getpid() not in {process for process, _ in places}
        assert not any(is_alive(process) for process, _ in places)

    @pytest.mark.parametrize("in_thread", [False, True])
    def test_they_do_not_hear_ctrl_c(self, in_thread: bool) -> None:
        def run() -> list[Result]:
            with Workers(2) as workers:
                return workers.run([Call(hears_ctrl_c, ())] * 2)

        with ThreadPoolExecutor(1) as pool:
            assert (pool.submit(run).result() if in_thread else run()) == [Result(False)] * 2

    def test_failures_are_the_same_as_without(self) -> None:
        with Workers(2) as workers:
            assert workers.run(list(FAILURES)) == list(FAILURES.values())

    def test_a_worker_that_dies_is_a_result_and_the_rest_goes_on(self) -> None:
        calls = [Call(double, (1,)), Call(die, (-9,)), Call(die, (3,)), Call(die, (-15,)), Call(double, (2,))]
        with Workers(2) as workers:
            found = workers.run(calls)
        assert [one.value for one in found] == [2, None, None, None, 4]
        assert found[1].problem == "The process in which it ran was killed, perhaps for want of memory."
        assert found[2].problem == "The process in which it ran ended with exit code 3."
        assert found[3].problem == "The process in which it ran was ended by SIGTERM."

    @pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
    def test_nobody_is_left_behind(self, by: signal.Signals, tmp_path: Path) -> None:
        """Ctrl-C goes to the whole group, as a terminal sends it; a kill to the first process alone."""
        said = tmp_path / "workers"
        code = (
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "from tests.zoo.analysis.test_workers import linger\nfrom zoo.analysis.workers import Call, Workers\n"
            f"with Workers(2) as workers: workers.run([Call(linger, ({str(said)!r},))] * 4)\n"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, start_new_session=True, stderr=subprocess.PIPE, text=True
        ) as run:
            try:
                until(lambda: said.exists() and len(said.read_text().split()) >= 2)
                workers = [int(one) for one in said.read_text().split()]
                assert all(map(is_alive, workers))
                (os.killpg if by == signal.SIGINT else os.kill)(run.pid, by)
                _, errors = run.communicate(timeout=600)
                until(lambda: not any(map(is_alive, workers)))
            finally:
                run.kill()
        assert errors.count("Traceback") == (1 if by == signal.SIGINT else 0)
        assert run.returncode == -by


def hear_ctrl_c() -> None:
    """Let this thread hear Ctrl-C, which the one that started it may block, and send it."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    signal.raise_signal(signal.SIGINT)


def linger(said: str) -> None:
    with Path(said).open("a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(600)


def is_alive(process: int) -> bool:
    """Whether there is such a process, other than as a zombie."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except OSError:  # a system without /proc
        return True


def until(condition: object, seconds: float = 600) -> None:
    """Wait for it. Fails if it does not come."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)
