"""Whole grades whose worker is killed at a message: at every single one of them, and while a model is trained."""

from __future__ import annotations

import dataclasses
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest

from grader.catalog import CATEGORIES, get_exercise
from grader.core.results import Grade, Result
from grader.reports.terminal import page
from grader.run.session import Session
from grader.sandbox.frames import Channel
from grader.sandbox.process import Worker
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Sandbox
from tests import solution_file
from zoo.core.recipe import Recipe

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at a fork server")
QUICK = frozenset(CATEGORIES) - {"training"}
SEED = 5
GONE = re.compile(
    r"The process that ran your code has ended: "
    r"(it was ended by signal 9, Killed \([^()\n]+\)|it was killed before any of your code ran)"
)
When = Literal["before", "unanswered"]
WHENS: tuple[When, When] = ("before", "unanswered")


class Killer:
    """Counts the messages to workers, of all workers, and kills the one that is asked at one of them.

    Attributes:
        at: the message, counted from 0; None: nobody is killed.
        when: before it is sent, or when it is sent and not answered yet.
        who: the fork server, in place of the worker, if given.
        seen: messages so far.
        asked: what they were.
    """

    def __init__(self) -> None:
        self.at: int | None = None
        self.when: When = "before"
        self.who: int | None = None
        self.seen = 0
        self.asked: list[str] = []
        self._worker: Worker | None = None

    def arm(self, at: int | None, when: When = "before", who: int | None = None) -> None:
        self.at, self.when, self.who, self.seen, self.asked = at, when, who, 0, []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ask, send = Worker.request, Channel.send

        def request(worker: Worker, header: dict[str, Any], *rest: Any, **named: Any) -> Any:
            self._worker = worker
            if worker.alive and self.at == self.seen and self.when == "before":
                self._kill()
            self.seen += 1
            self.asked.append(header["op"])
            return ask(worker, header, *rest, **named)

        def sent(channel: Channel, *rest: Any) -> None:
            send(channel, *rest)
            if self.at == self.seen - 1 and self.when == "unanswered":
                self._kill()

        monkeypatch.setattr(Worker, "request", request)
        monkeypatch.setattr(Channel, "send", sent)

    def _kill(self) -> None:
        assert self._worker is not None
        pid = self._worker.pid
        os.kill(pid if self.who is None else self.who, signal.SIGKILL)
        assert wait_until(lambda: ended(pid))  # the worker dies of its fork server's death, a little later


@dataclasses.dataclass
class Bench:
    """One fork server for all grades, and the folder in which workers have theirs."""

    sandbox: Sandbox
    killer: Killer
    temporary: Path

    @property
    def server(self) -> int | None:
        return self.sandbox._server.pid

    def submission(self, name: str) -> RemoteSubmission:
        source = solution_file(name).read_bytes()
        return RemoteSubmission(
            self.sandbox.worker("cpu"), source, f"{name}.py", again=lambda: self.submission(name)
        )

    def grade(self, name: str, categories: frozenset[str] = QUICK) -> list[Result]:
        """The right file's grade, which shows that judge and fork server go on; at the end nothing is left."""
        exercise = get_exercise(name)
        results = Session(exercise, lambda: self.submission(name), seed=SEED).run(categories)
        assert wait_until(lambda: self.left() == []), self.left()
        assert results
        return results

    def left(self) -> list[str]:
        """Folders of workers, and processes of the fork server."""
        children = Path(f"/proc/{self.server}/task/{self.server}/children")
        there = children.read_text().split() if self.server is not None else []
        return [*(one.name for one in self.temporary.glob("zoo-*")), *there]

    def messages(self, name: str, categories: frozenset[str] = QUICK) -> int:
        """How many a grade has in which nobody is killed."""
        self.killer.arm(None)
        assert {result.status for result in self.grade(name, categories)} == {"passed"}
        return self.killer.seen


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("auto") as shared:
        yield shared


@pytest.fixture
def bench(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killer = Killer()
    killer.install(monkeypatch)
    return Bench(sandbox, killer, tmp_path)


def ended(pid: int) -> bool:
    """Whether a process is gone, or a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until(done: Callable[[], bool]) -> bool:
    for _ in range(1_000):
        if done():
            return True
        time.sleep(0.01)
    return False


def shown(name: str, results: Sequence[Result]) -> str:
    """The page for people."""
    exercise = get_exercise(name)
    return "\n".join(
        page(
            Grade(
                exercise=name,
                title=exercise.title,
                file=exercise.file,
                components=exercise.components,
                device="cpu",
                seed=SEED,
                results=tuple(results),
                duration_s=1.0,
            )
        )
    )


def killed(
    bench: Bench,
    name: str,
    at: int,
    when: When,
    categories: frozenset[str] = QUICK,
    who: int | None = None,
) -> bool:
    """Kill the worker at a message, or the fork server, and look at what comes of it; whether it was missed."""
    bench.killer.arm(at, when, who)
    results = bench.grade(name, categories)
    where = f"{when} message {at}, {bench.killer.asked[at]}"
    failed = [result for result in results if result.status == "failed"]
    assert {result.status for result in results} <= {"passed", "failed", "skipped"}, where
    assert len(failed) <= 1, where
    for result in failed:
        assert GONE.fullmatch(result.message), (where, result.message)
        assert result.mistakes == (), where
    told = shown(name, results)
    assert "Traceback" not in told, where
    if failed:
        assert " ".join(failed[0].message.split()) in " ".join(told.split()), (where, told)
    else:
        assert {result.status for result in results} == {"passed"}, where
    return bool(failed)


def some(messages: int, count: int) -> list[int]:
    """So many of them, from the first to the last, at even distances."""
    return sorted({round(i * (messages - 1) / (count - 1)) for i in range(count)})


def every(bench: Bench, name: str, at: Sequence[int], categories: frozenset[str] = QUICK) -> None:
    """Kill at these messages, in turns before them and when they are not answered yet; then grade undisturbed."""
    messages, server = bench.messages(name, categories), bench.server
    missed = [one for i, one in enumerate(at) if not killed(bench, name, one, WHENS[i % 2], categories)]
    assert missed in ([], [messages - 1])  # the last answer may be there already
    assert bench.messages(name, categories) == messages
    assert bench.server == server


@pytest.mark.slow
def test_a_worker_killed_at_some_messages_of_a_grade(bench: Bench) -> None:
    every(bench, "masks", some(bench.messages("masks"), 8))


@pytest.mark.slow
def test_a_worker_killed_at_every_message_of_a_grade(bench: Bench) -> None:
    every(bench, "masks", range(bench.messages("masks")))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["feedforward", "attention"])
def test_a_worker_killed_at_messages_of_each_kind(bench: Bench, name: str) -> None:
    """The first, one in the middle and the last of each kind that a grade of classes has; it has hundreds."""
    bench.messages(name)
    kinds: dict[str, list[int]] = {}
    for number, kind in enumerate(bench.killer.asked):
        kinds.setdefault(kind, []).append(number)
    chosen = {one for all_ in kinds.values() for one in (all_[0], all_[len(all_) // 2], all_[-1])}
    every(bench, name, sorted(chosen))


@pytest.fixture
def _short_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the steps, and whatever is spelled then is enough: a killed worker is one after any step."""
    defaults = Recipe.__init__.__defaults__
    assert defaults
    assert defaults[0] == Recipe().steps
    monkeypatch.setattr(Recipe.__init__, "__defaults__", (30, *defaults[1:]))
    monkeypatch.setattr("grader.training.training.BAR", 0.0)  # not trained again,
    monkeypatch.setattr("grader.training.training.require", lambda _score: None)  # and not failed


@pytest.mark.slow
@pytest.mark.usefixtures("_short_training")
def test_a_worker_killed_while_a_model_is_trained_and_when_it_is_asked_again(bench: Bench) -> None:
    only = frozenset({"training"})
    bench.messages("feedforward", only)
    asked = bench.killer.asked
    assert asked.count("source") == 2  # the second worker is put some live calls again
    again = len(asked) - 1 - asked[::-1].index("source")
    for i, at in enumerate((again // 2, again, again + 5)):
        assert killed(bench, "feedforward", at, WHENS[i % 2], only)


@pytest.mark.slow
def test_the_fork_server_killed_in_the_middle_of_a_grade(bench: Bench) -> None:
    messages = bench.messages("masks")
    for i, at in enumerate(some(messages, 4)[:-1]):
        server = bench.server
        assert killed(bench, "masks", at, WHENS[i % 2], who=server)
        assert bench.server not in (server, None) or at == 0
        assert bench.messages("masks") == messages
