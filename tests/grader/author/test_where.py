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
    return next(one for one in where(name, KNOWN).exact if one.kind == kind)


def printed(*typed: str) -> list[str]:
    """The lines of `zoo dev where TYPED`, with slashes."""
    result = CliRunner().invoke(CLI, ["dev", "where", *typed], prog_name="zoo")
    assert result.exit_code == 0, result.output
    return result.output.replace(os.sep, "/").splitlines()


def test_every_variant() -> None:
    for axis in (one.name for one in get_registry().axes):
        for variant in get_registry().variants(axis):
            place = of_kind(variant.name, f"{axis} variant").place
            assert variant.path.partition(":")[2] in lines_at(place), place


def test_every_preset() -> None:
    for name in get_presets():
        call, line, _ = lines_at(of_kind(name, "preset").place).splitlines()
        assert call.endswith("Preset(")
        assert line == f'    "{name}",'


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
        ("zoo compare", "zoo/cli/compare.py"),
        ("zoo class grade", "grader/cli/classroom/grade.py"),
        ("missing-scale", "grader/exercises/attention/mistakes/scale.py"),
        ("softmax over queries", "grader/exercises/attention/mistakes/softmax.py"),
        ("RMSNorm", "zoo/parts/norm_type/rmsnorm.py"),
    ],
)
def test_as_typed(typed: str, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert printed(*typed.split())[0].startswith(f"{file}:")


def test_an_exercise_with_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    folder = "grader/exercises/feedforward/"
    files = ("", "template.py", "solution.py", "hints.py", "reference.py", "mistakes.py", "suite/")
    lines = printed("feedforward")[: len(files)]
    assert [line.split()[0] for line in lines] == [f"{folder}{file}" for file in files]
    assert lines[0].endswith("  exercise")
    assert lines[2].endswith("  solution: the model answer")


def test_a_part_of_a_name() -> None:
    others = {one.name for one in where("smooth", KNOWN).others}
    assert {"label-smoothing", "smoothing-fixed", "smoothing-ignored"} <= others
    assert sum(line.endswith("known mistake of loss 'smoothing-fixed'") for line in printed("smooth")) == 1


def test_what_is_called_so_comes_before_what_contains_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    first, *others = printed("label-smoothing")
    assert first.startswith("zoo/parts/loss/label_smoothing.py:")
    assert any(line.endswith("'label-smoothing-added'") for line in others)
    assert printed("norm")[-1].endswith(" more names contain 'norm'.")
    assert printed("compare") == printed("zoo", "compare")
    assert not any("compare reverse" in line for line in printed("compare"))  # it is the same function


@pytest.mark.parametrize(
    ("typed", "said"), [("mising-scale", "Did you mean missing-scale"), ("x", "None of the")]
)
def test_an_unknown_name(typed: str, said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        where(typed, KNOWN)
