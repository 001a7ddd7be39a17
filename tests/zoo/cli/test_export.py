"""`zoo export`: the file, and sentences for what cannot be written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.zoo.cli.conftest import Zoo

SMALL = ("--assembly=decoder", "--d-model=16", "--num-heads=2", "--d-ff=16", "--num-decoder-layers=1", "--tgt-vocab=30",
         "--src-vocab=30", "--max-len=16")  # fmt: skip


@pytest.mark.slow
def test_a_saved_model_comes_with_its_weights_and_runs(zoo: Zoo, tmp_path: Path) -> None:
    saved, file = tmp_path / "saved", tmp_path / "model.py"
    assert zoo("build", *SMALL, "--save", str(saved)).code == 0
    done = zoo("export", str(saved), "-o", str(file))
    assert done.code == 0
    assert "weights in" in done.out.replace("\n", " ")
    assert file.with_suffix(".safetensors").is_file()
    ran = subprocess.run(
        [sys.executable, "-P" if sys.version_info >= (3, 11) else "-B", str(file)],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert "generated" in ran.stdout
    again = zoo("export", str(saved), "-o", str(file))
    assert again.code == 2
    assert "exists" in again.err


def test_the_command_that_runs_it_can_be_pasted(zoo: Zoo, tmp_path: Path) -> None:
    file = tmp_path / "a b-é.py"
    assert f"Run it with `python '{file}'`." in zoo("export", *SMALL, "-o", str(file)).out


def test_a_file_that_exists_is_kept(zoo: Zoo, tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("mine")
    refused = zoo("export", *SMALL, "-o", str(file))
    assert refused.code == 2
    assert "exists" in refused.err
    assert "--force" in refused.err
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--attention=egaer",), "Did you mean eager"),
        (("--preset=gpt3",), "There is no preset"),
        (("--attention=torch", "--encoding=rotary"), "--explain"),
        (("--d-model=7",), "divisible"),
    ],
)
def test_bad_choices_are_refused_as_by_build(
    zoo: Zoo, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    refused = zoo("export", *arguments, "-o", str(tmp_path / "model.py"))
    assert refused.code == 2
    assert words in " ".join(refused.err.split())
    assert not (tmp_path / "model.py").exists()


def test_bad_outputs_are_refused_with_what_would_work(zoo: Zoo, tmp_path: Path) -> None:
    for name, words in ((".", "directory"), ("no/model.py", "no directory"), ("model.txt", ".py (python)")):
        refused = zoo("export", *SMALL, "-o", str(tmp_path / name))
        assert refused.code == 2
        assert words in " ".join(refused.err.split())
    refused = zoo("export", str(tmp_path), *SMALL, "-o", str(tmp_path / "m.py"))
    assert "omit the other options" in " ".join(refused.err.split())
