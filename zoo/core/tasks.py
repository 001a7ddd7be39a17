"""Tasks to train on: metadata, and the tasks that come with the zoo. No torch at import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

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
        preset: name of the preset with which the recipe trains it.
        commands: of its own, for `zoo train NAME` and `zoo compare NAME`: "train" or "compare" ->
            "package.module:command", a click command.
        recipe: fields of `zoo.core.recipe.Recipe` in which its training differs from the preset's.
        files: what it reads from files, if it takes any: "plain text". `zoo train NAME FILE...` then hands them over.
    """

    name: str
    summary: str
    path: str
    preset: str
    commands: Mapping[str, str] = field(default_factory=dict)
    recipe: Mapping[str, Any] = field(default_factory=dict)
    files: str = ""


@dataclass(frozen=True)
class Inputs:
    """The user's input to a task.

    Attributes:
        files: paths, read together; none for what comes with the task.
        subwords: size of a vocabulary of subwords; None for characters.
    """

    files: tuple[str, ...] = ()
    subwords: int | None = None


NO_INPUTS = Inputs()


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
        Task("sort", "sort the letters of English words", "zoo.training.tasks.sorting:Sort", "reverse"),
        Task(
            "add",
            "add two numbers, digit by digit",
            "zoo.training.tasks.addition:Add",
            "reverse",
            recipe={"steps": 1500},
        ),
        Task(
            "language",
            "continue a text, character by character or by subwords",
            "zoo.training.tasks.language:Language",
            "gpt-tiny",
            recipe={"steps": 500, "batch_size": 16},
            files="plain text in UTF-8; without one, Alice's Adventures in Wonderland",
        ),
        Task(
            "mask",
            "fill in hidden characters of a text (BERT)",
            "zoo.training.tasks.masking:Mask",
            "modernbert-tiny",
            recipe={"steps": 1000, "batch_size": 8},
            files="plain text in UTF-8; without one, Alice's Adventures in Wonderland",
        ),
        Task(
            "classify",
            "classify texts; without a file, rows of letters by the most frequent one",
            "zoo.training.tasks.classify:Classify",
            "bert-tiny",
            recipe={"lr": 1e-3},
            files="lines of a label, a tab and a text",
        ),
        Task(
            "shapes",
            "classify drawn shapes: images of a circle, square, triangle or cross",
            "zoo.training.tasks.shapes:Shapes",
            "vit-tiny",
            recipe={"steps": 400},
        ),
    )
