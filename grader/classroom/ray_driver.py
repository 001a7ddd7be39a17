"""The process with Ray in it, which `grader.classroom.ray_engine` starts and feeds.

It reads jobs from standard input and writes outcomes to its standard output, one JSON object per line; when its input
ends, it ends what it started. One actor per slot, each with a `grader.classroom.slot.Slot`, which lives as long as the
run. Strings of JSON are all that Ray carries.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from grader.classroom.pool import MAX_STARTS, START_S, Job, Outcome
from grader.core.results import GraderBrokenError
from zoo.core.errors import ZooError

TICK_S = 0.5
ROOM_S = 300.0  # for a cluster to have room for the first slot
ROUND_S = 60.0  # for the slots to look at their nodes before anything is graded
STORE = 80 * 2**20  # bytes of Ray's object store on this machine; jobs and answers are small
_PROBE_S = 30.0
_PROBE = """
import sys
from ray._raylet import GcsClient
try:
    GcsClient(address=sys.argv[1]).internal_kv_keys(b"", None, timeout=10)
except Exception as error:
    print(type(error).__name__, error)
    sys.exit(1)
"""


def main() -> None:
    """Grade what comes on standard input until it ends."""
    settings = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that Ray prints gets between the answers

    def answer(line: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # the other side is gone, which its end of input says too
            answers.write(line)
            answers.flush()

    try:
        _Run(settings, answer).grade()
    except ZooError as error:
        answer(json.dumps({"refused": str(error)}).encode() + b"\n")
    except GraderBrokenError as error:
        answer(json.dumps({"broken": str(error)}).encode() + b"\n")


@dataclasses.dataclass
class _Actor:
    handle: Any
    node: str = ""
    job: Job | None = None
    deadline: float = 0.0


class _Run:
    """One run on a cluster."""

    def __init__(self, settings: dict[str, Any], answer: Any) -> None:
        self._settings, self._answer = settings, answer
        self._given: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._waiting: deque[Job] = deque()
        self._actors: dict[Any, _Actor] = {}  # by the reference that says when it has answered
        self._idle: list[_Actor] = []
        self._open = True
        self._failed_starts, self._alive_at = 0, time.monotonic()

    def grade(self) -> None:
        """Grade until the input ends."""
        import ray

        threading.Thread(target=self._read, daemon=True).start()
        self._connect()
        try:
            room = self._room()
            self._slots = min(self._settings["slots"] or room, self._settings["number"])
            for _ in range(self._slots):
                self._start()
            self._answer(json.dumps({"slots": self._slots}).encode() + b"\n")
            ray.wait(list(self._actors), num_returns=len(self._actors), timeout=ROUND_S)
            while self._open:
                self._step()
        finally:
            ray.shutdown()
            if self._settings["folder"]:  # here too: who made it may have been killed
                shutil.rmtree(self._settings["folder"], ignore_errors=True)

    def _read(self) -> None:
        for line in sys.stdin.buffer:
            self._given.put(line)
        self._given.put(b"")

    def _take(self) -> None:
        """Take the jobs that have come."""
        while not self._given.empty():
            line = self._given.get()
            if not line:
                self._open = False
                return
            self._waiting.append(Job.read(line))

    def _connect(self) -> None:
        import ray

        given: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        address = self._settings["address"]
        try:
            if not address:
                given.update(
                    address="local",
                    num_cpus=self._settings["num_cpus"],
                    include_dashboard=False,
                    object_store_memory=STORE,
                    _node_ip_address="127.0.0.1",
                    _temp_dir=str(Path(self._settings["folder"], "r")),  # which Ray opens for everybody
                )
                ray.init(**given)
                return
            from ray._private.services import canonicalize_bootstrap_address

            address = canonicalize_bootstrap_address(address)
            _need_token(address)
            refuse_open_cluster(address)
            ray.init(address=address, **given)
        except ZooError:
            raise
        except ray.exceptions.AuthenticationError as error:
            raise ZooError(
                f"The Ray cluster at {address} needs another token, or this machine has none. Put the cluster's token "
                f"into RAY_AUTH_TOKEN, or its file into RAY_AUTH_TOKEN_PATH. ({_first_line(error)})"
            ) from error
        except Exception as error:
            where = (
                f"There is no Ray cluster at {address}"
                if address
                else "Ray could not be started on this machine"
            )
            raise ZooError(
                f"{where}. {_first_line(error)}"
                + (" Run the command on a machine of the cluster." if address else "")
            ) from error

    def _room(self) -> int:
        """Return how many slots the cluster has room for, if nobody else used it."""
        import ray

        found = 0
        for node in ray.nodes():
            has = node["Resources"] if node["Alive"] else {}
            wanted = {
                "CPU": self._settings["cpus"],
                "GPU": self._settings["gpus"],
                "memory": self._settings["memory"],
            }
            found += int(min(has.get(name, 0.0) / amount for name, amount in wanted.items() if amount))
        if not found:
            raise ZooError(
                "No node of the Ray cluster has room for one grade: "
                f"{self._settings['cpus']:g} CPUs, {self._settings['gpus']:g} GPUs"
                + (f", {self._settings['memory'] / 2**30:g} GB." if self._settings["memory"] else ".")
            )
        return found

    def _start(self) -> None:
        import ray

        from grader.classroom.slot import Slot

        options = {
            "num_cpus": self._settings["cpus"],
            "num_gpus": self._settings["gpus"],
            "max_restarts": 0,
            "scheduling_strategy": "SPREAD",
        }
        if self._settings["memory"]:
            options["memory"] = self._settings["memory"]
        actor = _Actor(ray.remote(Slot).options(**options).remote(self._settings["slot"]))
        self._actors[actor.handle.check.remote()] = actor

    def _step(self) -> None:
        """Feed idle slots, wait a moment, take what has come."""
        import ray

        self._take()
        while self._idle and self._waiting:
            self._feed(self._idle.pop(), self._waiting.popleft())
        done, _ = ray.wait(list(self._actors), timeout=TICK_S) if self._actors else ((), ())
        if not self._actors:
            time.sleep(TICK_S)
        for reference in done:
            actor = self._actors.pop(reference)
            try:
                self._answered(actor, ray.get(reference))
            except ray.exceptions.RayError as error:
                self._lost(actor, error)
        for reference, actor in list(self._actors.items()):
            if actor.job is not None and actor.deadline < time.monotonic():
                del self._actors[reference]
                self._lost(actor, TimeoutError("it did not answer in time"))
        if self._idle or any(actor.node for actor in self._actors.values()):
            self._alive_at = time.monotonic()
        elif self._waiting and time.monotonic() - self._alive_at > ROOM_S:
            raise GraderBrokenError(
                f"The Ray cluster has had no room for a grade for {ROOM_S:g} s. Finished grades are in the gradebook; "
                "run the same command when it has room again."
            )
        while self._open and len(self._actors) + len(self._idle) < self._slots:
            self._start()

    def _feed(self, actor: _Actor, job: Job) -> None:
        actor.job = job
        actor.deadline = time.monotonic() + self._settings["grade_s"] + 2 * START_S
        self._actors[actor.handle.grade.remote(job.message().decode())] = actor

    def _answered(self, actor: _Actor, text: str) -> None:
        found = json.loads(text)
        if actor.job is None:
            if found["refusal"]:
                raise ZooError(f"Node {found['node']} must not grade. {found['refusal']}")
            actor.node, self._failed_starts = found["node"], 0
            self._idle.append(actor)
            return
        job, actor.job = actor.job, None
        outcome = Outcome.read(job, found)
        self._idle.append(actor)
        self._keep(outcome)

    def _lost(self, actor: _Actor, error: Exception) -> None:
        """An actor is gone, or does not answer: its file is graded again, or is given up."""
        import ray

        with contextlib.suppress(Exception):
            ray.kill(actor.handle)
        words = _first_line(error)
        if actor.job is None:
            self._failed_starts += 1
            if self._failed_starts >= MAX_STARTS + self._slots:  # a node that is lost takes several with it
                raise GraderBrokenError(f"Ray's processes for grading do not start. {words}")
            return
        node = f" on {actor.node}" if actor.node else ""
        reason = f"The grader's process{node} was lost while it graded this file. {words}"
        self._keep(Outcome(actor.job, "broken", reason, tries=actor.job.tries, lost=True))

    def _keep(self, outcome: Outcome) -> None:
        """Hand an outcome on, or have its file graded again."""
        job = outcome.job
        if outcome.lost and job.tries < self._settings["tries"]:
            self._waiting.append(dataclasses.replace(job, tries=job.tries + 1))
        else:
            self._answer(outcome.message())


def _need_token(address: str) -> None:
    """Raise ZooError if this machine has no token."""
    import ray
    from ray._private.authentication.authentication_token_setup import ensure_token_if_auth_enabled

    try:
        ensure_token_if_auth_enabled(create_token_if_missing=False)
    except ray.exceptions.AuthenticationError as error:
        raise ZooError(
            f"There is no token for the Ray cluster at {address}. Start every node with RAY_AUTH_MODE=token, and "
            "put the cluster's token into RAY_AUTH_TOKEN or its file into RAY_AUTH_TOKEN_PATH here. Without tokens "
            "anybody who reaches a port of Ray can run programs on the cluster."
        ) from error


def refuse_open_cluster(address: str) -> None:
    """Raise ZooError unless the cluster sends away those who have no token."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _PROBE, address],
            env={**bare, "RAY_AUTH_MODE": "disabled"},
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ZooError(f"There is no Ray cluster at {address}: no answer in {_PROBE_S:g} s.") from None
    if done.returncode == 0:
        raise ZooError(
            f"The Ray cluster at {address} takes orders without a token: a submission that reaches it could take "
            "it over. Restart every node with RAY_AUTH_MODE=token."
        )
    if "InvalidAuthToken" not in done.stdout + done.stderr:  # another error shows nothing
        words = (done.stdout.strip() or "No answer.").splitlines()[0]
        raise ZooError(
            f"There is no Ray cluster at {address} that asks for a token. {words[:300]} Run the command on a "
            "machine of the cluster."
        )


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__
