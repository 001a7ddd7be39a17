"""`zoo train translate` and `zoo translate`: what they print, and every bad input."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.zoo.cli.conftest import Zoo
from zoo.training.trainer import DivergedError, Trainer

WORDS = {"eins": "one", "zwei": "two", "drei": "three"}
SMALL = ["--d-model=16", "--num-heads=2", "--d-ff=16", "--num-encoder-layers=1", "--num-decoder-layers=1"]
QUICK = [*SMALL, "--vocab-size=270", "--tokens=64", "--epochs=1", "--max-len=32", "--device=cpu"]


def write(folder: Path, src: str | None = None, tgt: str | None = None) -> list[str]:
    """Aligned files, and the options that name them; the validation text is the training text."""
    names = list(WORDS)
    lines = [f"{names[i % 3]} {names[i % 2]}" for i in range(12)]
    ours = "\n".join(lines) + "\n" if src is None else src
    theirs = (
        "\n".join(" ".join(WORDS[w] for w in line.split()) for line in lines) + "\n" if tgt is None else tgt
    )
    (folder / "a.src").write_text(ours, encoding="utf-8")
    with gzip.open(folder / "a.tgt.gz", "wt", encoding="utf-8") as file:
        file.write(theirs)
    sides = {"src": folder / "a.src", "tgt": folder / "a.tgt.gz"}
    return [f"--{part}-{side}={path}" for part in ("train", "valid", "test") for side, path in sides.items()]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with all three texts."""
    from click.testing import CliRunner

    from zoo.cli.root import make_cli
    from zoo.core.plugins import get_plugins

    folder = tmp_path_factory.mktemp("one trained")
    line = ["train", "--task=translate", str(folder / "run"), *QUICK, *write(folder)]
    result = CliRunner().invoke(make_cli(get_plugins()), line, prog_name="zoo")
    assert result.exit_code == 0, result.output
    (folder / "shown").write_text(result.stdout)
    return folder


def test_it_says_what_came_of_the_training(trained: Path) -> None:
    shown = (trained / "shown").read_text()
    assert "Trained for 1 epoch, " in shown
    for words in ("BLEU", "chrF2", "not comparable", "tok:13a", "version:", "zoo translate"):
        assert words in shown
    assert max(map(len, shown.splitlines())) <= 80 or str(trained) in shown
    assert f"Use it with zoo translate '{trained / 'run'}' TEXT\n" in shown


def test_every_text_has_a_line(zoo: Zoo, trained: Path) -> None:
    done = zoo("translate", str(trained / "run"), "eins zwei", "", "drei", "--device=cpu")
    assert done.code == 0
    lines = done.out.split("\n")
    assert len(lines) == 4
    assert lines[1] == ""


def test_standard_input_is_read_line_by_line(
    zoo: Zoo, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = str(trained / "run")
    named = zoo("translate", run, "eins zwei", "", "drei", "--device=cpu")
    from click.testing import CliRunner

    from zoo.cli.root import make_cli
    from zoo.core.plugins import get_plugins

    piped = CliRunner().invoke(
        make_cli(get_plugins()),
        ["translate", run, "--device=cpu"],
        input=b"\xef\xbb\xbfeins zwei\r\n\ndrei\n",
    )
    assert piped.stdout == named.out


def test_json_and_another_decoding(zoo: Zoo, trained: Path) -> None:
    done = zoo("translate", str(trained / "run"), "eins", "eins " * 60, "--decoding=beam:size=2", "--json")
    assert [one["text"] for one in done.json] == ["eins", "eins " * 60]
    assert [one["cut"] for one in done.json] == [False, True]
    assert "more than 32 tokens" in done.err
    assert "number 2" in done.err


def test_accelerated_it_translates_the_same(zoo: Zoo, trained: Path) -> None:
    line = ("translate", str(trained / "run"), "eins zwei", "drei", "--device=cpu")
    assert zoo(*line, "--accelerate").out == zoo(*line).out


def test_standard_input_that_is_no_text(zoo: Zoo, trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from zoo.cli.root import make_cli
    from zoo.core.plugins import get_plugins

    for given, words in ((b"\xff\n", "not valid UTF-8"), (b"", "No text: ")):
        done = CliRunner().invoke(
            make_cli(get_plugins()), ["translate", str(trained / "run"), "--device=cpu"], input=given
        )
        assert done.exit_code == 2
        assert words in done.stderr


def test_a_folder_without_a_run(zoo: Zoo, tmp_path: Path) -> None:
    done = zoo("translate", str(tmp_path / "none"), "eins")
    assert done.code == 2
    assert "no such folder" in " ".join(done.err.split())  # lines break where the path ends


def test_a_finished_run_resumes_to_nothing_and_takes_no_other_options(zoo: Zoo, trained: Path) -> None:
    run = str(trained / "run")
    before = (trained / "run" / "log.csv").read_text()
    assert zoo("train", "--task=translate", run, "--resume", "--device=cpu").code == 0
    assert (trained / "run" / "log.csv").read_text() == before
    done = zoo("train", "--task=translate", run, "--resume", "--epochs=3")
    assert (done.code, "omit --epochs" in done.err) == (2, True)
    done = zoo("train", "--task=translate", run, *QUICK)
    assert (done.code, "--resume" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({"tgt": "one\ntwo\n"}, "12 lines and"),
        ({"src": "\n" * 12}, "there is no sentence pair"),
        ({"src": "eins zwei drei " * 30 + "\n", "tgt": "one\n"}, "Use a larger --max-len"),
    ],
    ids=["misaligned", "empty", "too long"],
)
def test_texts_that_cannot_be_trained_on(zoo: Zoo, tmp_path: Path, texts: dict[str, str], words: str) -> None:
    done = zoo("train", "--task=translate", str(tmp_path / "run"), *QUICK, *write(tmp_path, **texts))
    assert done.code == 2
    assert words in " ".join(done.err.split())


def test_what_is_left_out_is_counted(zoo: Zoo, tmp_path: Path) -> None:
    src = "eins zwei\n\n" + "drei " * 40 + "\neins\n"
    given = write(tmp_path, src=src, tgt="one two\nlost\nthree\none\n")
    done = zoo("train", "--task=translate", str(tmp_path / "run"), *QUICK, *given)
    assert done.code == 0
    assert "4 pairs read, 2 left out: 1 with an empty side, 1 too long." in done.err


def test_bad_utf8_is_told_by_line(zoo: Zoo, tmp_path: Path) -> None:
    given = write(tmp_path)
    (tmp_path / "a.src").write_bytes(b"eins\nf\xfcnf\n")
    done = zoo("train", "--task=translate", str(tmp_path / "run"), *QUICK, *given)
    assert done.code == 2
    assert "line 2" in " ".join(done.err.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--train-src=a"], "--train-tgt"),
        (["--train-tsv=a", "--train-src=b", "--train-tgt=c"], "has both sides"),
        (["--train-tsv=a"], "no validation text"),
        (["--test-tsv=a"], "no training text"),
        (["--train-tsv=a", "--valid-tsv=b"], "cannot be read"),
        (["--src-vocab=9"], "--vocab-size"),
        (["--vocab-size=9"], "too small"),
        (["--model=words"], "no model"),
        (["--precision=half"], "no precision"),
        (["--lr=0"], "lr=0"),
        (["--tokenizer=none.json"], "cannot be read"),
        (["--embedding=three-way", "--no-joint", "--model=bpe"], "one table for both languages"),
        (["--loss=kl"], "rule loss-and-head"),
    ],
)
def test_what_cannot_be_asked_for(zoo: Zoo, tmp_path: Path, given: list[str], words: str) -> None:
    done = zoo("train", "--task=translate", str(tmp_path / "run"), *SMALL, "--device=cpu", *given)
    assert done.code == 2
    assert words in " ".join(done.err.split())
    assert not (tmp_path / "run").exists()


def test_a_downloaded_tokenizer_serves_both_languages(zoo: Zoo, tmp_path: Path, trained: Path) -> None:
    path = trained / "run" / "tokenizer.json"
    line = [*QUICK, *write(tmp_path), f"--tokenizer={path}"]
    assert zoo("train", "--task=translate", str(tmp_path / "run"), *line).code == 0
    assert (tmp_path / "run" / "tokenizer.json").read_text() == path.read_text()


@pytest.mark.parametrize(
    ("error", "code"), [(KeyboardInterrupt(), 130), (DivergedError("The loss became nan."), 1)]
)
def test_a_training_that_ends_early_says_so(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def broken(*_: Any) -> None:
        raise error

    monkeypatch.setattr(Trainer, "run", broken)
    done = zoo("train", "--task=translate", str(tmp_path / "a run"), *QUICK, *write(tmp_path))
    assert done.code == code
    again = f"`zoo train translate '{tmp_path / 'a run'}' --resume`"
    assert (again in done.err) == (code == 130)


def test_the_other_task_stays_as_it_was(zoo: Zoo) -> None:
    assert "--train-src" not in zoo("train", "--task=reverse", "--help").out
    assert "--train-src" in zoo("train", "--task", "translate", "--help").out
    done = zoo("train", "--task=reverse", "--steps=1", "--batch-size=2", "--device=cpu", "--json")
    assert json.loads(done.out)["task"] == "reverse"


def test_predict_says_what_translates(zoo: Zoo, trained: Path) -> None:
    done = zoo("predict", str(trained / "run" / "best"), "eins")
    assert done.code == 2
    assert "commands of its own" in done.err


def test_no_torch_before_it_is_needed(shell: Zoo) -> None:
    start = "import sys; from zoo.cli import main\ntry: main()\nfinally: assert 'torch' not in sys.modules"
    for line in (["train", "--task=translate", "--help"], ["translate", "--help"], ["evaluate", "--help"]):
        assert shell(*line, start=start).code == 0
