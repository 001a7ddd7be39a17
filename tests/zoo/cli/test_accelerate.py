"""--accelerate: what it says, that results are the same, and that what is saved is plain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.zoo.cli.conftest import Zoo
from tests.zoo.cli.test_build import small
from tests.zoo.cli.test_compare import SMALL
from tests.zoo.cli.test_train import QUICK
from tests.zoo.cli.test_translate import QUICK as QUICK_TRANSLATION
from tests.zoo.cli.test_translate import write
from zoo.accelerate import tricks
from zoo.models.checkpoint import load_checkpoint
from zoo.training.translation.translator import Translator


def test_build_says_what_was_accelerated_and_saves_a_plain_model(zoo: Zoo, tmp_path: Path) -> None:
    plain, quick = (
        zoo(*small("--dropout=0", "--json", "--save", str(tmp_path / name), *more)).json
        for name, more in (("plain", ()), ("quick", ("--accelerate",)))
    )
    assert plain["tricks"] == []
    assert len(quick["tricks"]) >= 2
    assert quick["trial"]["loss"] == pytest.approx(plain["trial"]["loss"], rel=1e-4)
    models = [load_checkpoint(tmp_path / name)[0] for name in ("plain", "quick")]
    assert tricks(models[1]) == []
    states = [dict(model.state_dict()) for model in models]
    torch.testing.assert_close(states[1], states[0], rtol=0, atol=0)
    said = " ".join(zoo(*small("--accelerate")).out.split())
    assert f"Accelerated: {quick['tricks'][0]}; " in said


def test_a_refusal_is_a_sentence(zoo: Zoo, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n\n\nclass Mine(nn.Module):\n    def __init__(self, d_model, d_ff, dropout=0.0):\n"
        "        super().__init__()\n        self.up = nn.Linear(d_model, d_model)\n"
        "        self.off = nn.Dropout(dropout, inplace=True)\n\n"
        "    def forward(self, x):\n        return self.off(self.up(x))\n"
    )
    done = zoo(*small(f"--feedforward={tmp_path / 'mine.py'}:Mine", "--accelerate"))
    assert (done.code, done.out) == (2, "")
    assert "drops in place (inplace=True)" in " ".join(done.err.split())


@pytest.mark.usefixtures("timed_once")
def test_compare_measures_accelerated_models(zoo: Zoo) -> None:
    line = ("compare", *SMALL, "--attention=eager,fused", "--accelerate")
    found = zoo(*line, "--json").json
    assert [(row["accelerated"], row["outcome"]) for row in found] == [(True, "measured")] * 2
    assert all(row["difference"] < 1e-4 for row in found)
    assert "Batch of 2 x 4 tokens on cpu, accelerated;" in " ".join(zoo(*line).out.split())


def test_training_is_accelerated_and_what_is_saved_is_plain(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[nn.Module] = []
    monkeypatch.setattr(
        "zoo.training.trainer.train",
        lambda model, *_args, on_step, **_more: (given.append(model), on_step(1, 0.5)),
    )
    done = zoo(*QUICK, "--steps=1", "--accelerate", "--save", str(tmp_path / "model"))
    assert done.code == 0
    assert tricks(given[0])
    assert tricks(load_checkpoint(tmp_path / "model")[0]) == []


@pytest.mark.slow
def test_a_translator_is_trained_and_scored_accelerated_and_saved_plain(
    zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[list[str], int]] = []
    call = Translator.__call__

    def noted(self: Translator, *args: Any) -> Any:
        found.append((tricks(self.model), torch.get_num_threads()))
        return call(self, *args)

    monkeypatch.setattr(Translator, "__call__", noted)
    run = str(tmp_path / "run")
    line = ("train", "translate", run, *QUICK_TRANSLATION, *write(tmp_path))
    assert zoo(*line, "--accelerate", "--threads=2").code == 0
    assert len(found) == 2  # the validation text, then the test text
    assert all(names and threads == 2 for names, threads in found)
    assert tricks(load_checkpoint(tmp_path / "run" / "best")[0]) == []
    assert zoo("evaluate", run, "--accelerate", "--device=cpu").code == 0
    assert found[-1][0]
