"""`zoo build --mine`: a Transformer of the learner's own parts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

from grader.author.proofs import solution_text
from grader.catalog import get_exercises
from grader.learner.assembly import (
    PLACES,
    PLACES_OF_DECODER,
    PLACES_OF_ENCODER,
    assemble,
    load_own,
)
from tests.docs.pages import the_example
from zoo.cli.root import make_cli
from zoo.core.plugins import get_plugins

OWN = [name for name in PLACES if name in get_exercises()]


def zoo(*arguments: str) -> Result:
    return CliRunner().invoke(make_cli(get_plugins()), arguments, prog_name="zoo")


def solve(folder: Path, *names: str) -> None:
    """Put solutions into the folder, and note that they are solved."""
    for name in names:
        (folder / f"{name}.py").write_text(solution_text(get_exercises()[name]))
    (folder / "progress.txt").write_text("".join(f"{name}: solved\n" for name in names))


def test_every_part_has_a_place() -> None:
    built_in = [name for name in get_exercises() if get_exercises()[name].package.startswith("grader.")]
    assert [name for name in PLACES if name in built_in] == built_in


@pytest.mark.parametrize("name", OWN)
def test_one_part_of_mine_stands_among_the_zoos(name: str, tmp_path: Path) -> None:
    solve(tmp_path, name)
    result = zoo("build", f"--mine={tmp_path}")
    assert result.exit_code == 0, result.output
    assert f"1 of {len(OWN)} parts are yours" in result.output
    rows = {line.split()[0]: line for line in result.output.splitlines() if line.strip()}
    assert [part for part in OWN if "yours" in rows[part]] == [name]


def test_what_is_not_solved_is_the_zoos(tmp_path: Path) -> None:
    solve(tmp_path, "masks", "norm")
    (tmp_path / "progress.txt").write_text("masks: solved\nnorm: tried; points 1/2\n")
    assert f"1 of {len(OWN)} parts are yours" in zoo("build", f"--mine={tmp_path}").output


def test_nothing_solved_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "attention.py").write_text("")
    result = zoo("build", f"--mine={tmp_path}")
    assert result.exit_code == 2
    assert "You have not solved any exercise yet." in result.output


def test_a_file_that_broke_after_it_was_solved_is_a_sentence_with_its_line(tmp_path: Path) -> None:
    solve(tmp_path, "norm")
    file = tmp_path / "norm.py"
    file.write_text(file.read_text().replace("super().__init__()", "super().__init__()\n        oh"))
    result = zoo("build", f"--mine={tmp_path}")
    assert result.exit_code == 2
    assert "NameError" in result.output
    assert "norm.py" in result.output
    assert "Traceback" not in result.output


@pytest.mark.slow
def test_all_of_it_mine_learns_to_spell_backwards_as_the_page_shows(tmp_path: Path) -> None:
    """The page's command, but for its grades: that solutions are graded as solved, others test."""
    solve(tmp_path, *OWN)
    result = zoo("build", f"--mine={tmp_path}")
    assert result.exit_code == 0, result.output
    assert f"{len(OWN)} of {len(OWN)} parts are yours" in result.output
    shown = the_example("docs/learn.md", "zoo build --mine=mine")
    assert shown.comparable(result.output) == shown.comparable(shown.output)


@pytest.mark.parametrize(
    ("assembly", "having"), [("decoder", PLACES_OF_DECODER), ("encoder", PLACES_OF_ENCODER)]
)
class TestOneStack:
    """A GPT or a BERT of the learner's parts."""

    def test_one_part_of_mine_stands_among_the_zoos(
        self, assembly: str, having: dict[str, str], tmp_path: Path
    ) -> None:
        for name in having:
            solve(tmp_path, name)
            result = zoo("build", f"--mine={tmp_path}", f"--assembly={assembly}")
            assert result.exit_code == 0, result.output
            assert f"1 of {len(having)} parts are yours" in result.output

    def test_what_has_no_place_is_left_out(
        self, assembly: str, having: dict[str, str], tmp_path: Path
    ) -> None:
        solve(tmp_path, "transformer", "decoder", "norm")
        result = zoo("build", f"--mine={tmp_path}", f"--assembly={assembly}")
        assert f"1 of {len(having)} parts are yours" in result.output
        assert "transformer" not in result.output

    def test_each_position_sees_what_it_should(
        self, assembly: str, having: dict[str, str], tmp_path: Path
    ) -> None:
        solve(tmp_path, *having)
        own = load_own(tmp_path, {name: f"{name}.py" for name in having})
        model = assemble(tmp_path, own, 0, assembly).eval()
        tokens, padded = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[5, 6, 7, 8, 0, 0]])
        before = model(tokens)
        torch.testing.assert_close(model(padded)[:, :4], before)
        for place in range(4):
            changed = tokens.clone()
            changed[:, place] = 20
            moved = (model(changed) - before).abs().amax(-1)[0] > 1e-5
            seen = [assembly == "encoder" or query >= place for query in range(4)]
            assert moved.tolist() == seen


def test_an_assembly_that_has_no_place_for_parts_is_a_sentence(tmp_path: Path) -> None:
    solve(tmp_path, "norm")
    result = zoo("build", f"--mine={tmp_path}", "--assembly=decodr")
    assert result.exit_code == 2
    assert "Did you mean decoder" in " ".join(result.output.split())


@pytest.mark.slow
def test_a_gpt_of_my_own_parts_learns_to_spell_backwards(tmp_path: Path) -> None:
    solve(tmp_path, *PLACES_OF_DECODER)
    result = zoo("build", f"--mine={tmp_path}", "--assembly=decoder")
    assert result.exit_code == 0, result.output
    assert f"{len(PLACES_OF_DECODER)} of {len(PLACES_OF_DECODER)} parts are yours" in result.output
    assert "With your cache, position by position, it spells" in result.output


TINY = ("--d-model=8", "--num-heads=2", "--d-ff=8", "--num-decoder-layers=1", "--max-len=8")


def test_my_parts_train_on_a_text_and_other_options_go_first(tmp_path: Path) -> None:
    solve(tmp_path, "attention", "norm", "loss")
    (tmp_path / "text.txt").write_text("so much of it " * 20)
    result = zoo(
        "train", "language", str(tmp_path / "text.txt"), f"--mine={tmp_path}", "--norm-type=rmsnorm",
        "--steps=1", "--json", *TINY,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "Your parts: attention." in result.stderr
    choices = json.loads(result.stdout)["blueprint"]["choices"]
    assert choices["attention"]["name"].endswith("attention.py:MultiHeadAttention")
    assert choices["norm-type"]["name"] == "rmsnorm"
    assert choices["loss"]["name"] == "cross-entropy"


def test_nothing_to_choose_is_a_sentence(tmp_path: Path) -> None:
    solve(tmp_path, "loss")
    result = zoo("train", "reverse", f"--mine={tmp_path}")
    assert result.exit_code == 2
    assert "whose part can be chosen: attention, positions, feedforward, norm" in " ".join(
        result.output.split()
    )


@pytest.mark.slow
def test_a_gpt_of_my_own_parts_is_written_to_one_file(tmp_path: Path) -> None:
    solve(tmp_path, *PLACES_OF_DECODER)
    out = tmp_path / "gpt.py"
    result = zoo("export", f"--mine={tmp_path}", "--assembly=decoder", *TINY, f"--output={out}")
    assert result.exit_code == 0, result.output
    text = out.read_text()
    for name in ("MultiHeadAttention", "FeedForward", "LayerNorm", "SinusoidalPositions"):
        assert f"class {name}(nn.Module)" in text
    done = subprocess.run(
        [sys.executable, "-I", out.name], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "generated" in done.stdout
