"""Calls spread over worker processes; one that fails, or kills its process, leaves the others alone."""

from __future__ import annotations

import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.resource_tracker import ensure_running
from typing import Any, NamedTuple

from zoo.core.errors import CombinationError, ZooError, describe_exception


class Call(NamedTuple):
    """A function at the top level of a module, and its arguments; with workers, all can be pickled."""

    function: Callable[..., Any]
    args: tuple[Any, ...]


@dataclass(frozen=True)
class Result:
    """The result of a call.

    Attributes:
        value: what it returned.
        problem: what went wrong, a sentence; "" if nothing did.
        refused: whether the problem is a CombinationError.
    """

    value: Any = None
    problem: str = ""
    refused: bool = False


OnDone = Callable[[int, Result], object]


def attempt(call: Call) -> Result:
    """Make the call; whatever it raises, other than Ctrl-C, becomes a sentence."""
    try:
        return Result(call.function(*call.args))
    except ZooError as error:
        return Result(problem=str(error), refused=isinstance(error, CombinationError))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a part may be anybody's code
        return Result(problem=describe_exception(error))


class Workers:
    """Worker processes, each with one thread of torch. A context manager: on leaving, however, none is left.

    With `jobs` of 1 there are none, and calls are made in this process.
    """

    def __init__(self, jobs: int) -> None:
        """Starts nothing yet; at most `jobs` workers are started, as they are needed."""
        self.jobs = jobs
        self.workers: list[_Worker] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.kill()

    def run(self, calls: Sequence[Call], on_done: OnDone = lambda _number, _result: None) -> list[Result]:
        """Make all calls, and return what came of each, in their order.

        `on_done` is called in this process with the number of a call and its result, as it is done.
        """
        results: dict[int, Result] = {}
        made = self._alone(calls) if self.jobs == 1 else self._spread(calls)
        for number, result in made:
            results[number] = result
            on_done(number, result)
        return [results[number] for number in range(len(calls))]

    def _alone(self, calls: Sequence[Call]) -> Iterator[tuple[int, Result]]:
        for number, call in enumerate(calls):
            yield number, attempt(call)

    def _spread(self, calls: Sequence[Call]) -> Iterator[tuple[int, Result]]:
        waiting = deque(range(len(calls)))
        busy: dict[_Worker, int] = {}
        while waiting or busy:
            while waiting and len(busy) < self.jobs:
                worker = self._idle(busy)
                busy[worker] = waiting.popleft()
                worker.give(calls[busy[worker]])
            ready = wait([worker.connection for worker in busy])
            for worker in [one for one in busy if one.connection in ready]:
                yield busy.pop(worker), self._result(worker)

    def _idle(self, busy: dict[_Worker, int]) -> _Worker:
        for worker in self.workers:
            if worker not in busy:
                return worker
        ensure_running()  # multiprocessing's own helper: to start it lets Ctrl-C through again
        with _ctrl_c_later():  # until it is on the list of those that are ended
            self.workers.append(_Worker())
        return self.workers[-1]

    def _result(self, worker: _Worker) -> Result:
        """Return what a worker that is ready has to say; one that has died is taken off the list."""
        try:
            return worker.connection.recv()  # type: ignore[no-any-return]
        except (EOFError, OSError):
            self.workers.remove(worker)
            return Result(problem=worker.death())


class _Worker:
    """One process and the pipe to it. Make it with Ctrl-C held back, which it inherits."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def give(self, call: Call) -> None:
        """Hand over a call. Where the process has died meanwhile, reading its answer will say so."""
        try:
            self.connection.send(call)
        except OSError:
            return

    def death(self) -> str:
        """Describe how it ended."""
        self.process.join()
        code = self.process.exitcode or 0
        self.kill()
        if code == -signal.SIGKILL:
            return "The process in which it ran was killed, perhaps for want of memory."
        if code < 0:
            return f"The process in which it ran was ended by {signal.Signals(-code).name}."
        return f"The process in which it ran ended with exit code {code}."

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self.process.kill()
        self.process.join()
        self.connection.close()


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Hold Ctrl-C back in the block; a process started in it never hears it, and is ended by this one."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with _noted() if threading.current_thread() is threading.main_thread() else nullcontext():
            yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _noted() -> Iterator[None]:
    """Note Ctrl-C in the block, and raise it at its end: what one thread blocks another may hear."""
    heard: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _frame: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        for number in heard[:1]:
            signal.raise_signal(number)


def _serve(connection: Connection) -> None:
    """Return what a worker does: answer calls until there are no more."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    import torch

    sys.stdout = sys.stderr  # what a part prints is no result
    torch.set_num_threads(1)
    while True:
        try:
            connection.send(attempt(connection.recv()))
        except (EOFError, BrokenPipeError):
            return


def _leave_with_parent() -> None:
    """End this process when the one that started it ends, even by SIGKILL."""
    import os

    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
