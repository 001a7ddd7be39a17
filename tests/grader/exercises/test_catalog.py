"""The manifest of exercises, the grader as a plugin, and the hooks it adds."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from grader import hookspecs
from grader.catalog import (
    Exercise,
    MistakeCollection,
    collect_exercises,
    exercise_for,
    get_exercise,
    get_exercises,
    get_mistakes,
)
from tests import ROOT
from zoo.core.errors import PluginError, UnknownNameError, ZooError

EXERCISE = Exercise("masks", "X", ("x",), ("test_functions.py",), "grader.exercises.masks")


def test_an_exercise_is_found_by_its_file_name() -> None:
    assert exercise_for(Path("somewhere/attention.py")).name == "attention"


def test_a_file_of_another_name_belongs_to_the_exercise_of_its_folder() -> None:
    assert exercise_for(Path("attention/anna.py")).name == "attention"
    assert exercise_for(Path("attention/masks.py")).name == "masks"


def test_a_file_of_another_name_is_answered_with_what_to_do() -> None:
    with pytest.raises(
        ZooError, match=r"Cannot infer the exercise from the name of 'mine.py'.*--exercise NAME.*attention"
    ):
        exercise_for(Path("mine.py"))


def test_an_unknown_exercise_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean attention"):
        get_exercise("atention")


@pytest.mark.parametrize("other", [EXERCISE, replace(EXERCISE, title="Y")])
def test_two_exercises_of_one_name_or_file_are_an_error(other: Exercise) -> None:
    with pytest.raises(PluginError, match="registered twice"):
        collect_exercises([EXERCISE, other])


def test_test_files_are_found_in_the_order_given() -> None:
    files = replace(EXERCISE, tests=("test_training.py", "test_functions.py")).test_files()
    assert [file.name for file in files] == ["test_training.py", "test_functions.py"]


@pytest.mark.parametrize(
    "missing",
    [{"package": "no_such_package"}, {"package": "grader"}, {"tests": ("no_such_file.py",)}, {"tests": ()}],
)
def test_a_suite_that_is_not_there_is_an_error(missing: dict[str, object]) -> None:
    with pytest.raises(PluginError, match="not installed"):
        replace(EXERCISE, **missing).test_files()  # type: ignore[arg-type]


@pytest.mark.parametrize("exercise", get_exercises().values(), ids=lambda one: one.name)
def test_everything_an_exercise_names_is_there(exercise: Exercise) -> None:
    assert exercise.test_files()
    for module in (exercise.reference, exercise.solution):
        importlib.import_module(module)
    solution = importlib.import_module(exercise.solution)
    assert all(hasattr(solution, component) for component in exercise.components)
    assert (ROOT / "exercises" / exercise.file).is_file()
    assert not exercise.next or exercise.next in get_exercises()


def test_mistakes_come_through_their_hook() -> None:
    assert len(get_mistakes("attention")) >= 25
    with pytest.raises(UnknownNameError):
        get_mistakes("no such exercise")


def test_mistakes_of_a_plugin_are_for_their_exercise_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    get_exercises()  # of the plugins that are there

    def each(_hook: str, add: Callable[[str, object], None]) -> None:
        add("theirs", [MistakeCollection("masks", "theirs:MISTAKES")])

    monkeypatch.setitem(sys.modules, "theirs", SimpleNamespace(MISTAKES=["one of theirs"]))
    monkeypatch.setattr("grader.catalog.get_plugins", lambda: SimpleNamespace(each=each))
    assert "one of theirs" in get_mistakes.__wrapped__("masks")
    assert "one of theirs" not in get_mistakes.__wrapped__("attention")


@pytest.mark.parametrize("path", ["no_such_module:MISTAKES", "math:NO_SUCH_NAME", "math:pi"])
def test_a_collection_that_leads_nowhere_says_so(path: str) -> None:
    with pytest.raises(PluginError, match="cannot be loaded"):
        MistakeCollection("attention", path).load()


def test_every_hook_of_the_grader_is_documented() -> None:
    hooks = {name: hook for name, hook in vars(hookspecs).items() if name.startswith("zoo_")}
    assert list(hooks) == ["zoo_exercises", "zoo_mistakes", "zoo_reports", "zoo_late_rules", "zoo_engines"]
    assert all("Called" in (inspect.getdoc(hook) or "") for hook in hooks.values())


def test_the_plugin_imports_neither_torch_nor_pytest() -> None:
    code = """
import sys, click
from grader import plugin
from grader.catalog import get_exercises
from grader.reports import get_formats
group = click.Group()
plugin.zoo_commands(group)
assert set(get_exercises()) and set(get_formats())
assert group.get_command(None, "grade").get_short_help_str()
print(sorted({"torch", "pytest", "_pytest", "numpy", "tqdm"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
