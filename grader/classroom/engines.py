"""Engines: where the files of a class are graded. A plugin adds engines with the hook `zoo_engines`.

The built-in ones are `local` (this machine), `ray` (a Ray cluster) and `submitit` (SLURM). What crosses to another
machine is JSON: a job's text, exercise and seed one way, its report the other way. No engine writes the gradebook.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Protocol

from grader.classroom.pool import Job, Limits, LocalPool, Outcome
from zoo.core.errors import PluginError, ZooError, unknown_name

if TYPE_CHECKING:
    from grader.sandbox.sandbox import Asked

Option = Literal["address", "cpus", "gpus", "memory", "trust", "options"]


@dataclass(frozen=True)
class Terms:
    """Settings of an engine.

    Attributes:
        jobs: how many files at once; None: as many as there is room for.
        sandbox: "auto", "strict" or "process".
        device: "cpu" or "cuda".
        limits: of one grade, and how often a file is begun whose process is lost.
        address: of the cluster; "": one that the engine starts, or its own default.
        cpus, gpus: reserved for one grade; fractions are allowed.
        memory: GB reserved for one grade; 0: none is.
        trust: grade where submissions cannot be confined at level "strict".
        options: of this engine only, by name.
    """

    jobs: int | None = None
    sandbox: Asked = "auto"
    device: str = "cpu"
    limits: Limits = field(default_factory=Limits)
    address: str = ""
    cpus: float = 1.0
    gpus: float = 0.0
    memory: float = 0.0
    trust: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


class Grading(Protocol):
    """An engine at work, made with `Terms`. A context manager: leaving it ends all that it started."""

    @property
    def level(self) -> str:
        """The sandbox level at which it grades. Raises ZooError if the one asked for is not available."""

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        """Grade all jobs; each outcome as it comes, exactly one per job.

        `Job.message` and `Outcome.message` are the JSON that may cross to another machine; `grader.classroom.slot`
        grades there.

        Raises:
            ZooError: the cluster cannot be used: why, and what to do.
            GraderBrokenError: grading cannot go on. What was yielded is safe.
        """

    def __enter__(self) -> Grading: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@dataclass(frozen=True)
class Engine:
    """An engine that a plugin offers.

    Attributes:
        name: as typed after `--engine`.
        summary: one line.
        path: "package.module:Class", a `Grading` made with `Terms`.
        takes: options that it understands.
        requires: a module that must be installed.
        install: what to install for it, as pip takes it.
    """

    name: str
    summary: str
    path: str
    takes: tuple[Option, ...] = ()
    requires: str = ""
    install: str = ""

    def open(self, terms: Terms) -> Grading:
        """Make it. Nothing is started before it is entered and run.

        Raises:
            ZooError: what it requires is not installed, or `terms` are not for it.
            PluginError: `path` leads nowhere.
        """
        if self.requires and importlib.util.find_spec(self.requires) is None:
            raise ZooError(
                f"--engine {self.name} needs {self.requires}, which is not installed. Install it with "
                f"`pip install '{self.install or self.requires}'`."
            )
        usual = Terms()
        for name, typed in OPTIONS.items():
            if name not in self.takes and getattr(terms, name) != getattr(usual, name):
                able = [one.name for one in get_engines().values() if name in one.takes]
                raise ZooError(
                    f"{typed} has no meaning for --engine {self.name}. It is for: {', '.join(able)}."
                )
        module, _, attribute = self.path.partition(":")
        try:
            kind = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise PluginError(f"Engine '{self.name}' cannot be loaded from {self.path}: {error}") from error
        made: Grading = kind(terms)
        return made


OPTIONS: Mapping[Option, str] = {
    "address": "--address",
    "cpus": "--cpus-per-grade",
    "gpus": "--gpus-per-grade",
    "memory": "--memory-per-grade",
    "trust": "--trust",
    "options": "--engine-option",
}
"""Fields of `Terms` that only some engines take, as typed."""


class LocalEngine:
    """The pool of judges on this machine (`grader.classroom.pool`)."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms

    def __enter__(self) -> LocalEngine:
        return self

    def __exit__(self, *_exception: object) -> None:
        """`run` ends what it started."""

    @cached_property
    def level(self) -> str:
        from grader.sandbox.sandbox import Sandbox

        with Sandbox(self._terms.sandbox) as sandbox:
            return sandbox.level(self._terms.device)

    def run(self, jobs: Sequence[Job]) -> Iterator[Outcome]:
        size = self._terms.jobs or cores()
        with LocalPool(size, self.level, self._terms.device, self._terms.limits) as pool:
            yield from pool.run(jobs)


def cores() -> int:
    """The number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cluster_level(terms: Terms) -> str:
    """The level at which an engine grades on other machines: "strict", or "process" for submissions that are trusted.

    Raises:
        ZooError: submissions are neither confined nor trusted, or no GPU is reserved for a device that needs one.
    """
    if terms.device != "cpu" and not terms.gpus:
        raise ZooError(f"--device {terms.device} on a cluster needs --gpus-per-grade, such as 0.5 or 1.")
    if terms.sandbox == "process" and not terms.trust:
        raise ZooError(
            "--sandbox process does not confine submissions, so one could take over the cluster. Use --sandbox strict, "
            "or add --trust if you trust every author."
        )
    if terms.sandbox == "strict" or not terms.trust:
        return "strict"  # which each node has to show before it grades
    return "process"


def built_in() -> Iterable[Engine]:
    """The engines of this package."""
    room = __name__.rpartition(".")[0]
    return [
        Engine("local", "a pool of processes on this machine", f"{__name__}:LocalEngine"),
        Engine(
            "ray",
            "a Ray cluster, or Ray on this machine",
            f"{room}.ray_engine:RayEngine",
            ("address", "cpus", "gpus", "memory", "trust"),
            "ray",
            "transformer-zoo[ray]",
        ),
        Engine(
            "submitit",
            "jobs of SLURM",
            f"{room}.submitit_engine:SubmititEngine",
            ("cpus", "gpus", "memory", "trust", "options"),
            "submitit",
            "transformer-zoo[slurm]",
        ),
    ]


@cache
def get_engines() -> Mapping[str, Engine]:
    """All engines of all plugins, by name."""
    from zoo.core.plugins import get_plugins

    return get_plugins().collect("zoo_engines", Engine)


def get_engine(name: str) -> Engine:
    """The engine called `name`. Raises UnknownNameError with the nearest names."""
    if name not in get_engines():
        raise unknown_name("engine", name, get_engines())
    return get_engines()[name]
