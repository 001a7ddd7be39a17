"""Tasks with files on the command line: train, predict, generate, compare."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from zoo.cli.root import make_cli
from zoo.core.plugins import get_plugins

TINY = [
    "--d-model=16",
    "--num-heads=2",
    "--d-ff=16",
    "--max-len=12",
    "--dropout=0",
    "--steps=4",
    "--batch-size=4",
]
LAYERS = {
    "language": "--num-decoder-layers=1",
    "mask": "--num-encoder-layers=1",
    "classify": "--num-encoder-layers=1",
}


def zoo(*words: object) -> Result:
    return CliRunner().invoke(make_cli(get_plugins()), list(map(str, words)))


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    text, labelled = tmp_path / "text.txt", tmp_path / "labelled.tsv"
    text.write_text("the cat sat on the mat. " * 30)
    labelled.write_text("".join(f"{'even' if n % 2 == 0 else 'odd'}\t{n}\n" for n in range(200)))
    return {"language": text, "mask": text, "classify": labelled}


@pytest.mark.slow
@pytest.mark.parametrize("task", LAYERS)
def test_what_is_trained_on_a_file_is_used_without_it(
    task: str, files: dict[str, Path], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    made = zoo("train", f"--task={task}", files[task], *TINY, LAYERS[task], "--save", run, "--json")
    assert made.exit_code == 0, made.output
    record = json.loads(made.output)
    assert len(record["losses"]) == 4
    assert ("bits_per_byte" in record) == (task == "language")
    again = zoo("train", task, files[task], *TINY, LAYERS[task], "--json")
    assert json.loads(again.output)["losses"] == record["losses"]
    files[task].unlink()
    use = {
        "language": ("generate", run, "the", "--max-new=5"),
        "mask": ("predict", run, "the [MASK]at"),
        "classify": ("predict", run, "12", "7"),
    }
    used = zoo(*use[task])
    assert used.exit_code == 0, used.output
    assert used.output.strip()
    other = zoo(*(("predict", run, "the") if task == "language" else ("generate", run, "the")))
    assert other.exit_code == 2
    assert ("zoo generate" if task == "language" else "zoo predict") in other.output


@pytest.mark.usefixtures("timed_once")
@pytest.mark.slow
def test_a_comparison_on_a_text_has_bits_per_byte(files: dict[str, Path]) -> None:
    words = [
        "compare",
        "language",
        files["language"],
        *TINY[:5],
        "--num-decoder-layers=1",
        "--steps=2",
        "--length=8",
    ]
    table = zoo(*words, "--encoding=learned,none", "--optimizer=adamw")
    assert table.exit_code == 0, table.output
    assert "bits/byte" in table.output
    assert max(map(len, table.output.splitlines())) <= 80
    (row,) = json.loads(zoo(*words, "--json").output)
    assert (row["task"], row["reached"], len(row["bits_per_byte"])) == ("language", [None], 1)
    assert row["tgt_vocab"] == 3 + len(set("the cat sat on the mat. "))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["train", "language", "{folder}/none.txt"], "'{folder}/none.txt' cannot be read"),
        (["train", "reverse", "text.txt"], "unexpected extra argument"),
        (["train", "language", "--subwords=100"], "--subwords"),
        (["train", "language", "--assembly=encoder"], "use assembly=decoder, as the preset gpt-tiny has"),
        (["compare", "mask", "--assembly=decoder"], "use assembly=encoder, as the preset bert-tiny has"),
    ],
)
def test_what_is_wrong_is_a_sentence(words: list[str], message: str, tmp_path: Path) -> None:
    result = zoo(*(word.format(folder=tmp_path) for word in words))
    assert result.exit_code == 2
    shown = "".join(result.output.split())
    assert "".join(message.format(folder=tmp_path).split()) in shown, result.output
