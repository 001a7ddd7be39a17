"""`zoo train`: what it prints and saves, and how it ends when something is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from tests.zoo.cli.conftest import Zoo
from zoo.cli.train import _next_command
from zoo.core.blueprint import get_preset
from zoo.models.checkpoint import load_checkpoint
from zoo.parts.loss.cross_entropy import CrossEntropyLoss

QUICK = ["train", "--d-model=8", "--num-heads=2", "--d-ff=8", "--steps=3", "--batch-size=4", "--device=cpu"]


FORWARD = CrossEntropyLoss.forward


def interrupt_at(nth: int) -> Callable[..., torch.Tensor]:
    """A loss that is interrupted, as by Ctrl-C, when it is computed for the nth time."""
    calls = iter(range(1, nth + 1))

    def loss(*args: object) -> torch.Tensor:
        if next(calls) == nth:
            raise KeyboardInterrupt
        return FORWARD(*args)  # type: ignore[arg-type]

    return loss


def test_it_trains_scores_shows_ten_examples_and_saves(zoo: Zoo, tmp_path: Path) -> None:
    done = zoo(*QUICK, "--save", str(tmp_path / "model"))
    assert done.code == 0
    assert "Trained on reverse: 3 steps of 4, loss " in done.out
    assert "Unseen texts: 0 of 1,000 right (0.0%)." in done.out
    assert done.out.count("wrong, expected") == 10
    assert "pandering" in done.out
    assert "gnirednap" in done.out
    assert f"zoo predict {tmp_path / 'model'} pandering pointing" in done.out
    assert done.err == ""
    notes = load_checkpoint(tmp_path / "model").extra
    assert (notes["task"], notes["steps"], notes["correct"], notes["total"]) == ("reverse", 3, 0, 1000)


def test_json_holds_all_of_it(zoo: Zoo) -> None:
    found = zoo(*QUICK, "--attention=fused", "--seed=3", "--lr=0.001", "--json").json
    assert found["task"] == "reverse"
    assert found["blueprint"]["choices"]["attention"]["name"] == "fused"
    assert found["blueprint"]["choices"]["norm"]["name"] == "pre"  # the task's preset
    assert found["blueprint"]["sizes"]["d_model"] == 8
    assert (found["recipe"]["steps"], found["recipe"]["seed"], found["recipe"]["lr"]) == (3, 3, 0.001)
    assert (len(found["losses"]), len(found["examples"]), found["total"]) == (3, 10, 1000)
    assert found["saved"] is None


def test_the_seed_decides_weights_and_batches(zoo: Zoo) -> None:
    losses = [zoo(*QUICK, f"--seed={seed}", "--json").json["losses"] for seed in (1, 1, 2)]
    assert losses[0] == losses[1] != losses[2]


def test_ctrl_c_keeps_what_was_learned(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CrossEntropyLoss, "forward", interrupt_at(3))
    done = zoo(*QUICK, "--save", str(tmp_path))
    assert done.code == 130
    assert done.out == ""
    assert "Interrupted after 2 steps. Step 2 of 3 is saved in" in " ".join(done.err.split())
    assert load_checkpoint(tmp_path).extra["steps"] == 2


def test_ctrl_c_before_anything_was_learned_keeps_the_old_checkpoint(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zoo(*QUICK, "--save", str(tmp_path))
    before = (tmp_path / "zoo.json").read_text()
    monkeypatch.setattr(CrossEntropyLoss, "forward", interrupt_at(1))
    log = (tmp_path / "log.csv").read_text()
    done = zoo(*QUICK, "--save", str(tmp_path))
    assert done.code == 130
    assert done.err.endswith("Interrupted after 0 steps. Nothing new is saved.\n")
    assert "has the record of a training (reverse, 3 steps, finished)" in " ".join(done.err.split())
    assert (tmp_path / "zoo.json").read_text() == before
    assert (tmp_path / "log.csv").read_text() == log


def test_it_saves_at_intervals(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed outright has no time to save."""
    monkeypatch.setattr("zoo.cli.train.SAVE_EVERY", 2)
    steps: list[int] = []

    def saved(_directory: Path, _model: object, _blueprint: object, **extra: int) -> None:
        steps.append(extra["steps"])

    monkeypatch.setattr("zoo.models.checkpoint.save_checkpoint", saved)
    zoo(*QUICK, "--steps=5", "--save", str(tmp_path))
    assert steps == [2, 4, 5, 5]  # before it is scored, and with its score


def test_a_loss_that_is_not_finite_is_said(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.cli.train.SAVE_EVERY", 1)
    done = zoo(*QUICK, "--lr=1e30", "--save", str(tmp_path))
    assert done.code == 1
    assert "Error: The loss became nan at step 2 of 3" in done.err
    assert "Step 1 of 3 is saved in" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--task=revers"], "There is no task 'revers'. Did you mean reverse?"),
        (["--attention=eagre"], "There is no attention 'eagre'. Did you mean eager"),
        (["--num-heads=3"], "d_model=8 is not divisible by num_heads=3"),
        (["--max-len=5"], "max_len=5 is too small for the task"),
        (["--lr=-1"], "lr=-1.0: expected a number above 0"),
        (["--steps=0"], "'--steps': 0 is not in the range x>=1"),
        (["--batch-size=100000000000"], "does not fit into memory. Use a smaller --batch-size"),
        (["--attention=gone.py:Mine"], "there is no file 'gone.py'"),
    ],
)
def test_what_cannot_be_trained_is_said(zoo: Zoo, options: list[str], reason: str) -> None:
    done = zoo(*QUICK, *options)
    assert done.code == 2
    assert reason in " ".join(done.err.split())


def test_a_directory_that_is_not_ours_is_refused_before_the_training(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    monkeypatch.setattr("zoo.training.trainer.train", lambda *_, **__: pytest.fail("trained"))
    done = zoo(*QUICK, "--save", str(tmp_path))
    assert done.code == 2
    assert "is not a checkpoint" in " ".join(done.err.split())


def test_a_stub_of_ones_own_is_named(zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "from torch import nn\nclass Mine(nn.Module):\n    def __init__(self, d_model, d_ff, dropout=0.0):\n"
        "        super().__init__()\n    def forward(self, x):\n        raise NotImplementedError('mine: write it')\n"
    )
    done = zoo(*QUICK, "--feedforward=mine.py:Mine")
    assert done.code == 2
    assert "mine: write it" in done.err
    Path("mine.py").write_text(
        Path("mine.py").read_text().replace("raise NotImplementedError('mine: write it')", "return x")
    )
    done = zoo(*QUICK, "--feedforward=mine.py:Mine", "--save", "my own")
    assert "Use it with zoo predict 'my own' pandering pointing --allow-code" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("preset", "task", "command"),
    [
        ("vit-tiny", "shapes", "zoo export 'my own' -o model.py"),
        ("gpt-tiny", "language", "zoo generate 'my own' \"Once\""),
        ("bert-tiny", "mask", "zoo predict 'my own' 'It was [MASK] dream.'"),
    ],
)
def test_what_is_to_be_pasted_is_quoted(preset: str, task: str, command: str) -> None:
    run = SimpleNamespace(blueprint=get_preset(preset).blueprint(), task=task, save=Path("my own"))
    assert _next_command(run, SimpleNamespace(examples=())) == command  # type: ignore[arg-type]


def test_help_needs_no_torch(shell: Zoo) -> None:
    start = (
        "import atexit, sys; atexit.register(lambda: print('torch' in sys.modules)); "
        "from zoo.cli import main; main()"
    )
    for command in ("train", "predict"):
        done = shell(command, "--help", start=start)
        assert done.code == 0
        assert done.out.splitlines()[-1] == "False"
        assert "Examples:" in done.out


def test_tasks_are_completed(shell: Zoo) -> None:
    done = shell(_ZOO_COMPLETE="bash_complete", COMP_WORDS="zoo train --task rev", COMP_CWORD="3")
    assert "plain,reverse" in done.out.splitlines()


def test_examples_of_json_are_complete(zoo: Zoo) -> None:
    for example in json.loads(zoo(*QUICK, "--json").out)["examples"]:
        assert example["expected"] == example["text"][::-1]
        assert example["right"] is (example["got"] == example["expected"])
