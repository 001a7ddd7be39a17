"""Training models of one stack on tasks with a source and an answer."""

from __future__ import annotations

import pytest
import torch
from click.testing import CliRunner

from zoo.cli.root import make_cli
from zoo.core.blueprint import Blueprint, get_preset
from zoo.core.errors import CombinationError
from zoo.core.plugins import get_plugins
from zoo.models.builder import build
from zoo.training.tasks.base import EOS, PAD, SOS
from zoo.training.trainer import Recipe, check_model, exact_match, load_task, train
from zoo.training.update import joined

TASK = load_task("reverse")


def blueprint(assembly: str, **sizes: int) -> Blueprint:
    return get_preset("reverse").blueprint(choices={"assembly": assembly}, sizes=sizes)


def test_source_and_answer_become_one_row_with_the_padding_behind() -> None:
    src = torch.tensor([[5, 6, 7], [8, PAD, PAD]])
    tgt = torch.tensor([[7, 6, EOS], [9, EOS, PAD]])
    (tokens,), labels = joined(src, tgt)
    assert tokens.tolist() == [[5, 6, 7, SOS, 7, 6], [8, SOS, 9, EOS, PAD, PAD]]
    assert labels.tolist() == [[PAD, PAD, PAD, 7, 6, EOS], [PAD, 9, EOS, PAD, PAD, PAD]]


def test_a_decoder_learns_to_answer() -> None:
    chosen = blueprint("decoder", max_len=22, d_model=32)
    check_model(chosen, TASK)
    model = build(chosen, seed=0)
    losses = train(model, TASK, Recipe(steps=60, warmup=10))
    assert losses[-1] < 0.8 * losses[0]
    score = exact_match(model, TASK, TASK.held_out[:5])
    assert [len(one.got) <= TASK.max_len for one in score.examples] == [True] * 5


@pytest.mark.parametrize(
    ("assembly", "sizes", "message"),
    [
        ("encoder", {}, "assembly=encoder generates nothing. Use assembly=encoder-decoder, or assembly=decoder"),
        ("decoder", {}, "max_len=16 is too small for the task: with assembly=decoder, source and answer are one"),
        ("decoder", {"max_len": 22, "tgt_vocab": 20}, "vocab=20 is too small"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_refused(assembly: str, sizes: dict[str, int], message: str) -> None:
    with pytest.raises(CombinationError) as caught:
        check_model(blueprint(assembly, **sizes), TASK)
    assert message in str(caught.value)


def test_the_source_vocabulary_does_not_matter_to_a_decoder() -> None:
    check_model(blueprint("decoder", max_len=22, src_vocab=1), TASK)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train --assembly=encoder", "assembly=encoder generates nothing"),
        ("train --task=translate {folder} --assembly=decoder", "translate needs assembly=encoder-decoder"),
        ("compare --assembly=encoder --train", "assembly=encoder generates nothing"),
        ("draw diff assembly decoder encoder", "There is nothing to draw for the axis assembly"),
        ("build --assembly=encoder --decoding=beam", "(rule unused-decoding)"),
    ],
)
def test_the_command_line_says_so(words: str, message: str, tmp_path: object) -> None:
    result = CliRunner().invoke(make_cli(get_plugins()), words.format(folder=f"{tmp_path}/run").split())
    assert result.exit_code != 0
    assert message in " ".join(result.output.split()), result.output
