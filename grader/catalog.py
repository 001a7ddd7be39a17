"""The catalog of exercises and of known mistakes. Metadata only: imports no torch and no pytest."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from zoo.core.errors import PluginError, ZooError, unknown_name
from zoo.core.plugins import get_plugins

CATEGORIES = ("shape", "masking", "numerics", "gradients", "parameters", "behaviour", "training")


@dataclass(frozen=True)
class Exercise:
    """One file that a learner writes, and the package that grades it.

    The package holds, under these names:

    - `template.py`: the file as a learner finds it;
    - `solution.py`: a solution, which must get all points;
    - `hints.py`: `HINTS`, a mapping from each of `components` to its hints, from gentle to plain;
    - `reference.py`: the reference in steps;
    - `mistakes`: `MISTAKES`, the known mistakes (`grader.engine.mistakes.Mistake`);
    - `suite`: a package with the hidden tests, and `suite.scenarios` with `SUBJECT`
      (`grader.engine.subject.Subject`), what they ask.

    Attributes:
        name: as typed after `--exercise`.
        title: one line for people.
        components: the functions and classes that the learner writes, in order.
        tests: the suite's files, in order of dependence; tests of category "training" always come last.
        package: the exercise's package ("grader.exercises.attention").
        next: name of the exercise to do after this one, or "".
    """

    name: str
    title: str
    components: tuple[str, ...]
    tests: tuple[str, ...]
    package: str
    next: str = ""

    @property
    def file(self) -> str:
        """Name of the learner's file, by which a submission is recognised ("attention.py")."""
        return f"{self.name}.py"

    @property
    def reference(self) -> str:
        """Module handed to the tests as the fixture `reference`."""
        return f"{self.package}.reference"

    @property
    def solution(self) -> str:
        """Module of the shipped solution."""
        return f"{self.package}.solution"

    def template_text(self) -> str:
        """The file as a learner finds it. Raises PluginError if it is not installed."""
        try:
            return (resources.files(self.package) / "template.py").read_text(encoding="utf-8")
        except (ImportError, OSError, ValueError) as error:
            raise PluginError(
                f"The template of exercise '{self.name}' ({self.package}.template) is not installed."
            ) from error

    def all_hints(self) -> Mapping[str, Sequence[str]]:
        """Hints by component, from gentle to plain. Raises PluginError if they are not installed."""
        try:
            hints: Mapping[str, Sequence[str]] = importlib.import_module(f"{self.package}.hints").HINTS
        except (ImportError, AttributeError, ValueError) as error:
            raise PluginError(
                f"The hints of exercise '{self.name}' ({self.package}.hints) are not installed."
            ) from error
        return hints

    def mistakes(self) -> MistakeCollection:
        """The exercise's own known mistakes."""
        return MistakeCollection(self.name, f"{self.package}.mistakes:MISTAKES")

    def subject(self) -> Any:
        """The scenarios of the hidden tests (`grader.engine.subject.Subject`). Raises PluginError if not installed."""
        path = f"{self.package}.suite.scenarios"
        try:
            return importlib.import_module(path).SUBJECT
        except (ImportError, AttributeError) as error:
            raise PluginError(
                f"The scenarios of exercise '{self.name}' ({path}:SUBJECT) are not installed."
            ) from error

    def test_files(self) -> list[Path]:
        """Paths of the suite's files, in order.

        Raises:
            PluginError: the suite is not installed.
        """
        suite = f"{self.package}.suite"
        try:
            spec = importlib.util.find_spec(suite)
        except ImportError:
            spec = None
        folders = list(spec.submodule_search_locations or ()) if spec is not None else []
        files = [Path(folder) / test for test in self.tests for folder in folders[:1]]
        if not files or not all(file.is_file() for file in files):
            raise PluginError(f"The hidden tests of exercise '{self.name}' ({suite}) are not installed.")
        return files


@dataclass(frozen=True)
class MistakeCollection:
    """Known mistakes for an exercise, by import path: nothing is imported before a mistake is to be named.

    Attributes:
        exercise: name of the exercise.
        path: "package.module:ATTRIBUTE", an iterable of `grader.engine.mistakes.Mistake`.
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
    """Exercises by name. Raises PluginError if two share a name."""
    found: dict[str, Exercise] = {}
    for exercise in offered:
        if exercise.name in found:
            raise PluginError(
                f"exercise '{exercise.name}' ({exercise.package}) is registered twice: "
                f"{found[exercise.name].package} has it already"
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
    """All known mistakes (`grader.engine.mistakes.Mistake`) for an exercise: its own, then those of plugins.

    Imports them, and with them torch. A plugin whose collection cannot be loaded is skipped.

    Raises:
        PluginError: the exercise's own cannot be loaded.
    """
    mistakes: list[Any] = list(get_exercise(exercise).mistakes().load())

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
    """Infer the exercise from the file's name, or else from its folder's.

    Raises:
        ZooError: no exercise has either name.
    """
    exercises = get_exercises()
    for name in (file.stem if file.suffix == ".py" else "", file.absolute().parent.name):
        if name in exercises:
            return exercises[name]
    raise ZooError(
        f"Cannot infer the exercise from the name of '{file}' or its folder. Rename the file, or use "
        f"--exercise NAME, where NAME is one of: {', '.join(exercises)}."
    )
