"""Tasks to train on: metadata, and the tasks that come with the zoo. No torch at import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from zoo.core.errors import unknown_name
from zoo.core.hookspecs import hookimpl


@dataclass(frozen=True)
class Task:
    """A task: what a model is trained on, and how its output is scored.

    Attributes:
        name: as it is typed (`zoo train NAME`).
        summary: one line.
        path: "package.module:Class"; its interface is `zoo.training.tasks.base.TaskData`. Empty for a task that has
            commands of its own.
        preset: name of the preset with which the default recipe trains it.
        commands: of its own, for `zoo train NAME` and `zoo compare NAME`: "train" or "compare" ->
            "package.module:command", a click command.
    """

    name: str
    summary: str
    path: str
    preset: str
    commands: Mapping[str, str] = field(default_factory=dict)


@cache
def get_tasks() -> Mapping[str, Task]:
    """All tasks of all plugins, by name. A plugin that repeats a name is skipped."""
    from zoo.core.plugins import get_plugins

    return get_plugins().collect("zoo_tasks", Task)


def get_task(name: str) -> Task:
    """The task called `name`. Raises UnknownNameError."""
    if name not in get_tasks():
        raise unknown_name("task", name, get_tasks(), "zoo train --help")
    return get_tasks()[name]


@hookimpl
def zoo_tasks() -> tuple[Task, ...]:
    return (
        Task("reverse", "spell English words backwards", "zoo.training.tasks.reverse:Reverse", "reverse"),
        Task("copy", "copy English words, letter by letter", "zoo.training.tasks.copying:Copy", "reverse"),
    )
