"""The far side of an engine: a place on another machine where one file after the other is graded.

An engine's own process there (a Ray actor, a SLURM job) makes a `Slot` in its main thread and hands it JSON. The slot
starts a judge (`grader.classroom.judge`) in a session of its own, with nothing of the engine's environment, and
replaces it when it ends or hangs. Imports no torch.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

from grader.classroom.grading import fingerprint
from grader.classroom.pool import Job, Limits, LocalPool
from grader.sandbox.sandbox import Sandbox
from zoo.core.errors import ZooError


class Slot:
    """A place to grade. Make it, use it and close it in the main thread: judges end with the thread that started them.

    Args:
        settings: JSON of `slot_settings`.
    """

    def __init__(self, settings: str) -> None:
        self._given = json.loads(settings)
        limits = Limits(**{**self._given["limits"], "tries": 1})  # the engine counts
        self._pool = LocalPool(1, self._given["sandbox"], self._given["device"], limits, _own_paths())

    def check(self) -> str:
        """Look at this node, as JSON: `node`, `pid`, `refusal` (why it must not grade, or "")."""
        given = self._given
        refusal = ""
        if given["sandbox"] == "strict":
            try:
                with Sandbox("strict") as sandbox:
                    sandbox.level(given["device"])
            except ZooError as error:
                refusal = str(error)
        here = versions(given["versions"])
        for name, wanted in given["versions"].items():
            if here[name] != wanted and not refusal:
                refusal = f"It has another version of {name}: {here[name]}; expected {wanted}, as here."
        return json.dumps({"node": platform.node(), "pid": os.getpid(), "refusal": refusal})

    def grade(self, job: str) -> str:
        """Grade one file: a `Job` as JSON, and its `Outcome` as JSON."""
        (outcome,) = self._pool.run([Job.read(job)])
        return outcome.message().decode()

    def close(self) -> None:
        """End the judge."""
        self._pool.close()


def slot_settings(sandbox: str, device: str, limits: Limits, exercises: Iterable[str]) -> str:
    """The settings of a slot, as JSON; `exercises` are those whose version must be the same there as here."""
    names = ["python", "torch", *(f"exercise {one}" for one in sorted(set(exercises)))]
    given = {
        "sandbox": sandbox,
        "device": device,
        "limits": {"grade_s": limits.grade_s, "files": limits.files, "memory": limits.memory},
        "versions": versions(names),
    }
    return json.dumps(given)


def versions(names: Iterable[str]) -> dict[str, str]:
    """The versions here that a grade depends on: `python` (without its last number), `torch`, `exercise NAME`."""
    found = {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "torch": importlib.metadata.version("torch"),
    }
    return {name: found.get(name) or fingerprint(name.partition(" ")[2]) for name in names}


def _own_paths() -> list[str]:
    """Return where this process finds packages, without its current directory and what Ray brings for itself."""
    here = str(Path.cwd())
    return [path for path in sys.path if path not in ("", here) and Path(path).name != "thirdparty_files"]
