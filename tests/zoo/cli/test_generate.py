"""`zoo generate`."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result

from zoo.cli.generate import continued, load_writer, pieces
from zoo.cli.root import make_cli
from zoo.core.blueprint import get_preset
from zoo.core.plugins import get_plugins
from zoo.core.tasks import Inputs
from zoo.models.builder import build
from zoo.models.checkpoint import save_checkpoint
from zoo.parts.decoding.beam import BeamDecoding
from zoo.parts.decoding.filtered import FilteredDecoding
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding
from zoo.parts.decoding.nucleus import NucleusDecoding
from zoo.parts.decoding.top_k import TopKDecoding
from zoo.training.scoring import prepare
from zoo.training.trainer import load_data

TEXT = "the cat sat on the mat, wie schön! " * 30
SIZES = {"d_model": 16, "num_heads": 2, "d_ff": 32, "num_decoder_layers": 1, "max_len": 12}


def saved(folder: Path, text: str = TEXT, subwords: int | None = None, **choices: str) -> Path:
    """An untrained model of a text."""
    (folder / "text.txt").write_text(text)
    given = get_preset("gpt-tiny").blueprint(choices=choices, sizes=SIZES)
    blueprint, data = prepare(given, load_data("language", Inputs((str(folder / "text.txt"),), subwords)))
    model: Any = build(blueprint, seed=1)
    extra = {"task": "language", "data": dict(data.saved())}  # type: ignore[attr-defined]
    save_checkpoint(folder / "run", model, blueprint, **extra)
    return folder / "run"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return saved(tmp_path)


def zoo(*words: object, text: str | None = None) -> Result:
    return CliRunner().invoke(make_cli(get_plugins()), ["generate", *map(str, words)], input=text)


def test_the_prompt_comes_first_and_a_seed_repeats(run: Path) -> None:
    first, again, other = (
        zoo(run, "the", "--max-new=40", "--temperature=1", f"--seed={seed}") for seed in (0, 0, 1)
    )
    assert first.exit_code == 0, first.output
    assert first.output.startswith("the")
    assert len("the") + 1 < len(first.output) <= len("the") + 40 + 1  # an end may be drawn
    assert first.output == again.output != other.output


def test_greedily_it_is_what_generate_gives_also_without_a_cache(run: Path) -> None:
    model, _, data = load_writer(run, False, torch.device("cpu"))
    ids = data.vocabulary.encode("the")
    (row,) = generate(model, torch.tensor([ids]), 9, GreedyDecoding(), cached=False).tolist()
    assert zoo(run, "the", "--max-new=9", "--temperature=0").output == f"the{data.vocabulary.decode(row)}\n"


def test_a_text_longer_than_the_model_sees_goes_on_from_its_last_half(run: Path) -> None:
    model, blueprint, data = load_writer(run, False, torch.device("cpu"))
    ids = data.vocabulary.encode("the cat sat on the mat")
    found = [token for step in continued(model, ids, GreedyDecoding(), 20, 12) for token in step]
    assert len(found) == 20
    assert blueprint.sizes.max_len == 12
    (first,) = generate(model, torch.tensor([ids[-6:]]), 7, GreedyDecoding()).tolist()
    assert found[:7] == first
    (second,) = generate(model, torch.tensor([[*ids, *first][-6:]]), 7, GreedyDecoding()).tolist()
    assert found[7:14] == second


def test_beam_search_gives_its_tokens_at_once(run: Path) -> None:
    model, _, data = load_writer(run, False, torch.device("cpu"))
    steps = list(continued(model, data.vocabulary.encode("the"), BeamDecoding(2), 5, 12))
    assert [len(step) for step in steps] == [5]
    assert zoo(run, "the", "--decoding=beam:size=2", "--max-new=5").exit_code == 0


def test_bytes_wait_until_they_are_a_character(tmp_path: Path) -> None:
    *_, data = load_writer(saved(tmp_path, subwords=259), False, torch.device("cpu"))
    ids = data.vocabulary.encode("aö😀b")

    def one_by_one() -> Iterator[list[int]]:
        for token in ids:
            yield [token]

    assert [one for one in pieces(data, one_by_one()) if one] == ["a", "ö", "😀", "b"]
    assert "".join(pieces(data, iter([[one] for one in ids[:2]]))) == "a\ufffd"


def test_without_a_prompt_it_is_read_from_standard_input(run: Path) -> None:
    assert zoo(run, "--max-new=3", text="the cat\n").output.startswith("the cat")
    (run.parent / "other").mkdir()
    lines = saved(run.parent / "other", "a\nb\n" * 50)
    empty = zoo(lines, "", "--max-new=4")
    assert empty.exit_code == 0
    assert empty.output.endswith("\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["{run}", "Zebra"], "The character 'Z' is not in the text that the model was trained on. It knows"),
        (["{run}", "the", "--top-k=3", "--decoding=greedy"], "--decoding and --top-k both say"),
        (["{run}", "the", "--top-p=2"], "--top-p"),
        (["{run}", "the", "--max-new=0"], "--max-new"),
        (["{run}", "the", "--decoding=grady"], "Did you mean greedy"),
        (["{run}/nowhere", "the"], "is not a checkpoint: there is no such directory"),
        (["{run}/..", "the"], "is not a checkpoint"),
        (["{run}", ""], "is not in the text"),
    ],
)
def test_what_is_wrong_is_a_sentence(words: list[str], message: str, run: Path) -> None:
    result = zoo(*(word.format(run=run) for word in words))
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_a_model_of_another_task_or_assembly_is_refused(tmp_path: Path) -> None:
    for name, preset, extra, message in (
        (
            "an encoder",
            "bert-tiny",
            {"task": "mask"},
            "on the task mask, and does not continue a text. Use `zoo predict '",
        ),
        (
            "images",
            "vit-tiny",
            {"task": "shapes"},
            "on the task shapes, and does not continue a text. Train one that",
        ),
        (
            "none",
            "bert-tiny",
            {},
            "was trained on no task, and does not continue a text. Train one that does with",
        ),
        ("gone", "bert-tiny", {"task": "language"}, "is damaged"),
    ):
        blueprint = get_preset(preset).blueprint(
            sizes={"d_model": 8, "num_heads": 2, "d_ff": 8, "max_len": 17}
        )
        save_checkpoint(tmp_path / name, build(blueprint, seed=0), blueprint, **extra)
        result = zoo(tmp_path / name, "a")
        assert result.exit_code == 2
        assert message in " ".join(result.output.split())
    run = tmp_path / "a translation"
    run.mkdir()
    (run / "run.json").write_text("{}")
    assert f"Use `zoo translate '{run}' TEXT`" in " ".join(zoo(run, "a").output.split())


def test_top_k_and_top_p_keep_what_both_keep() -> None:
    scores = torch.log_softmax(torch.randn(5, 9, generator=torch.Generator().manual_seed(0)), -1)
    both = FilteredDecoding(1.0, 3, 0.6).keep(scores)
    assert torch.equal(both, TopKDecoding(3).keep(scores) & NucleusDecoding(0.6).keep(scores))
    assert bool(both.gather(1, scores.argmax(-1, keepdim=True)).all())
    assert bool(FilteredDecoding().keep(scores).all())


@pytest.mark.slow
def test_tokens_come_through_a_pipe_one_by_one_and_ctrl_c_ends_it(run: Path) -> None:
    command = [sys.executable, "-c", "from zoo.cli import main; main()", "generate", str(run), "the"]
    process = subprocess.Popen(
        [*command, "--max-new=1000000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        assert len(process.stdout.read(50)) == 50
        process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:  # Python loses one that comes while an object is finalised
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert process.returncode == 130
    assert out.endswith(b"\n")
    assert b"Traceback" not in err
    line = f"{shlex.join(command)} --max-new=3000 | head -c 10"
    closed = subprocess.run(line, shell=True, capture_output=True)
    assert len(closed.stdout) == 10
    assert b"Traceback" not in closed.stderr
