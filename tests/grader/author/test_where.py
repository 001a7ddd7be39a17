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
SHARED = ("devices", "dropout", "norms", "parts", "placement", "promises", "stacks")
"""The files of mistakes that encoder and decoder have in common; for the encoder they are all."""


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
@pytest.mark.sampled(3)
def test_as_typed(typed: str, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert printed(*typed.split())[0].startswith(f"{file}:")


@pytest.mark.parametrize(
    ("exercise", "mistakes"),
    [
        ("feedforward", ["grader/exercises/feedforward/mistakes.py"]),
        ("encoder", [f"grader/exercises/encoder_and_decoder/mistakes/{one}.py" for one in SHARED]),
    ],
)
def test_an_exercise_begins_with_its_files(
    exercise: str, mistakes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    folder = f"grader/exercises/{exercise}/"
    tests = [f"suite/{one}" for one in get_exercises()[exercise].tests]
    files = ("", "template.py", "solution.py", "hints.py", "reference.py", "suite/scenarios.py", *tests)
    expected = [*(f"{folder}{file}" for file in files), *mistakes]
    lines = printed(exercise)
    assert [line.split()[0] for line in lines[: len(expected)]] == expected
    assert lines[0].endswith("  exercise")
    assert lines[2].endswith("  solution: the model answer")
    assert "  Hidden tests of `" in lines[6]


def test_each_file_of_mistakes_and_tests_says_what_is_in_it() -> None:
    for name in get_exercises():
        kinds = {one.place: one.kind for one in KNOWN if one.name == name and not one.main}
        for one in KNOWN:
            if one.kind == f"known mistake of {name}":
                assert "istakes " in kinds[one.place.rpartition(":")[0]]
            if one.kind == f"hidden test of {name}":
                assert kinds[one.place.rpartition(":")[0]].startswith(
                    ("Hidden tests of `", "The training test")
                )


def test_every_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for axis in get_registry().axes:
        folder, declaration = (
            one.place for one in where(axis.name, KNOWN).exact if one.kind.startswith("axis")
        )
        first, second, _ = lines_at(declaration).splitlines()
        assert first == "    Axis("
        assert second == f'        "{axis.name}",'
        assert (Path(folder) / "__init__.py").is_file()
    assert printed("masking")[0] == "zoo/parts/masking/  axis"


def test_a_part_of_a_name() -> None:
    others = {one.name for one in where("smooth", KNOWN).others}
    assert {"label-smoothing", "smoothing-fixed", "smoothing-ignored"} <= others
    assert sum(line.endswith("known mistake of loss 'smoothing-fixed'") for line in printed("smooth")) == 1


def test_an_exact_name_does_not_hide_what_contains_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    lines = printed("mask")
    assert lines[0] == "zoo/parts/mask/  axis"
    for name in ("mask-ignored", "mask-inverted"):
        assert any(line.endswith(f"known mistake of attention '{name}'") for line in lines[:12])
    assert lines[12].endswith(" more names contain 'mask': zoo dev where mask --all")
    assert [line.split("  ")[1] for line in lines[13:]] == [
        f"command `zoo {one} mask`" for one in ("compare", "train", "draw")
    ]
    left = int(lines[12].split()[0])
    every = printed("mask", "--all")
    assert len(every) == len(lines) - 1 + left
    assert [*every[:12], *every[-3:]] == [*lines[:12], *lines[13:]]


def test_names_that_begin_with_it_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    first, second, third = printed("label-smoothing")
    assert first.startswith("zoo/parts/loss/label_smoothing.py:")
    assert second.endswith("'label-smoothing-added'")
    assert third.endswith("'sequence_loss: label smoothing'")
    begins = [one.name.startswith("softmax-") for one in where("softmax", KNOWN).others]
    assert begins == sorted(begins, reverse=True)


def test_a_command_is_printed_as_it_is_typed() -> None:
    assert printed("compare") == printed("zoo", "compare")
    assert printed("compare")[0].endswith("  command `zoo compare`")
    assert printed("regrade")[0].endswith("  command `zoo class regrade`")
    assert not any("compare reverse" in line for line in printed("compare"))  # it is the same function


@pytest.mark.parametrize(
    ("typed", "said"), [("mising-scale", "Did you mean missing-scale"), ("x", "None of the")]
)
def test_an_unknown_name(typed: str, said: str) -> None:
    with pytest.raises(UnknownNameError, match=said):
        where(typed, KNOWN)
