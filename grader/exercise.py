"""What an exercise is, and the manifest of all exercises. Metadata only: imports no torch and no pytest."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from zoo.errors import PluginError, ZooError, unknown_name
from zoo.plugins import get_plugins

CATEGORIES = ("shape", "masking", "numerics", "gradients", "parameters", "behaviour", "training")


@dataclass(frozen=True)
class Exercise:
    """One file that a learner writes, and how it is graded.

    Attributes:
        name: as typed after `--exercise`.
        title: one line for people.
        file: the file's name, by which a submission is recognised ("attention.py").
        components: the functions and classes that the learner writes, in order.
        suite: package of the hidden tests ("grader.suites.attention").
        tests: the suite's files, in order of dependence; tests of category "training" always come last.
        reference: module handed to the tests as the fixture `reference`.
        solution: module of the shipped solution, which must get all points.
        next: name of the exercise to do after this one, or "".
        template: the file as a learner finds it, "package:file" ("grader.templates:attention.py").
        hints: "package.module:ATTRIBUTE", a mapping from each of `components` to its hints, from gentle to plain.
    """

    name: str
    title: str
    file: str
    components: tuple[str, ...]
    suite: str
    tests: tuple[str, ...]
    reference: str
    solution: str
    next: str = ""
    template: str = ""
    hints: str = ""

    def template_text(self) -> str:
        """The file as a learner finds it. Raises PluginError if it is not installed."""
        package, _, name = self.template.partition(":")
        try:
            return (resources.files(package) / name).read_text(encoding="utf-8")
        except (ImportError, OSError, ValueError) as error:
            raise PluginError(
                f"The template of exercise '{self.name}' ({self.template}) is not installed."
            ) from error

    def all_hints(self) -> Mapping[str, Sequence[str]]:
        """Hints by component, from gentle to plain. Raises PluginError if they are not installed."""
        module, _, attribute = self.hints.partition(":")
        try:
            hints: Mapping[str, Sequence[str]] = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError, ValueError) as error:
            raise PluginError(
                f"The hints of exercise '{self.name}' ({self.hints}) are not installed."
            ) from error
        return hints

    def test_files(self) -> list[Path]:
        """Paths of the suite's files, in order.

        Raises:
            PluginError: the suite is not installed.
        """
        spec = importlib.util.find_spec(self.suite)
        folders = list(spec.submodule_search_locations or ()) if spec is not None else []
        files = [Path(folder) / test for test in self.tests for folder in folders[:1]]
        if not files or not all(file.is_file() for file in files):
            raise PluginError(f"The hidden tests of exercise '{self.name}' ({self.suite}) are not installed.")
        return files


@dataclass(frozen=True)
class MistakeCollection:
    """Known mistakes for an exercise, by import path: nothing is imported before a mistake is to be named.

    Attributes:
        exercise: name of the exercise.
        path: "package.module:ATTRIBUTE", an iterable of `grader.mistakes.Mistake`.
    """

    exercise: str
    path: str

    def load(self) -> Sequence[Any]:
        """The mistakes. Raises PluginError if `path` leads nowhere."""
        module, _, attribute = self.path.partition(":")
        try:
            return tuple(getattr(importlib.import_module(module), attribute))
        except (ImportError, AttributeError, TypeError) as error:
            raise PluginError(f"The mistakes at {self.path} cannot be loaded: {error}") from error


def collect_exercises(offered: Iterable[Exercise]) -> dict[str, Exercise]:
    """Exercises by name. Raises PluginError if two share a name or a file name."""
    found: dict[str, Exercise] = {}
    for exercise in offered:
        for other in found.values():
            if exercise.name == other.name or exercise.file == other.file:
                raise PluginError(
                    f"exercise '{exercise.name}' ({exercise.file}) is registered twice: "
                    f"'{other.name}' ({other.file}) is there already"
                )
        found[exercise.name] = exercise
    return found


@cache
def get_exercises() -> Mapping[str, Exercise]:
    """All exercises of all plugins, by name. A plugin that repeats a name is skipped."""
    exercises: dict[str, Exercise] = {}

    def add(_plugin: str, offered: Iterable[Exercise]) -> None:
        exercises.update(collect_exercises([*exercises.values(), *offered]))

    get_plugins().each("zoo_exercises", add)
    return exercises


@cache
def get_mistakes(exercise: str) -> Sequence[Any]:
    """All known mistakes (`grader.mistakes.Mistake`) for an exercise, of all plugins, in order.

    Imports them, and with them torch. A plugin whose collection cannot be loaded is skipped.
    """
    mistakes: list[Any] = []

    def add(_plugin: str, offered: Iterable[MistakeCollection]) -> None:
        mistakes.extend(
            one for collection in offered if collection.exercise == exercise for one in collection.load()
        )

    get_plugins().each("zoo_mistakes", add)
    return tuple(mistakes)


def get_exercise(name: str) -> Exercise:
    """The exercise called `name`. Raises UnknownNameError with the nearest names."""
    if name not in get_exercises():
        raise unknown_name("exercise", name, get_exercises())
    return get_exercises()[name]


def exercise_for(file: Path) -> Exercise:
    """The exercise that a file of this name belongs to.

    Raises:
        ZooError: no exercise has this file name.
    """
    exercises = get_exercises()
    for exercise in exercises.values():
        if exercise.file == file.name:
            return exercise
    known = ", ".join(f"{one.file} (--exercise {one.name})" for one in exercises.values())
    raise ZooError(
        f"No exercise has a file called '{file.name}'. Known: {known}. "
        "Rename the file, or say which exercise it is with --exercise NAME."
    )
