"""`zoo dev where`: the file and line of everything that has a name."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from grader.author.where import Written, everything, where
from grader.catalog import get_exercises, get_mistakes
from tests import ROOT
from zoo.cli.root import make_cli
from zoo.core.blueprint import get_presets
from zoo.core.errors import UnknownNameError
from zoo.core.plugins import get_plugins, get_registry

CLI = make_cli(get_plugins())
KNOWN = everything(CLI)


def lines_at(place: str) -> str:
    """The line of `place`, and the two after it."""
    file, _, line = place.rpartition(":")
    return "\n".join(Path(file).read_text().splitlines()[int(line) - 1 :][:3])


def of_kind(name: str, kind: str) -> Written:
    return next(one for one in where(name, KNOWN) if one.kind == kind)


def test_every_variant() -> None:
    for axis in (one.name for one in get_registry().axes):
        for variant in get_registry().variants(axis):
            place = of_kind(variant.name, f"{axis} variant").place
            assert variant.path.partition(":")[2] in lines_at(place), place


def test_every_preset() -> None:
    for name in get_presets():
        assert f'"{name}"' in lines_at(of_kind(name, "preset").place)


def test_every_exercise_and_known_mistake() -> None:
    for name in get_exercises():
        assert (Path(of_kind(name, "exercise").place) / "solution.py").is_file()
        for mistake in get_mistakes(name):
            place = of_kind(mistake.id, f"known mistake of {name}").place
            assert any(word in lines_at(place) for word in ("@", "def ", "lambda")), place


def test_every_hidden_test() -> None:
    for name, exercise in get_exercises().items():
        found = [one for one in KNOWN if one.kind == f"hidden test of {name}"]
        marks = sum(file.read_text().count("@pytest.mark.grade(") for file in exercise.test_files())
        assert len(found) == marks > 0
        assert all("@pytest.mark.grade" in lines_at(one.place) for one in found)


@pytest.mark.parametrize(
    ("typed", "file"),
    [
        ("class grade", "grader/cli/classroom/grade.py"),
        ("regrade", "grader/cli/classroom/grade.py"),
        ("train translate", "zoo/cli/train_translate.py"),
        ("dev where", "grader/cli/dev.py"),
        ("missing-scale", "grader/exercises/attention/mistakes/scale.py"),
    ],
)
def test_as_typed(typed: str, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(CLI, ["dev", "where", *typed.split()], prog_name="zoo")
    assert result.exit_code == 0
    assert result.output.startswith(f"{file.replace('/', os.sep)}:")


@pytest.mark.parametrize(
    ("typed", "said"), [("mising-scale", "Did you mean missing-scale"), ("x", "None of the")]
)
def test_an_unknown_name(typed: str, said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        where(typed, KNOWN)
