"""`zoo compare`: the table, JSON, CSV, and what is refused."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
import torch

from tests.zoo.cli.conftest import Zoo
from zoo.blueprint import make_blueprint
from zoo.cli.tables import comparison
from zoo.compare import Conditions, Row

SMALL = (
    "--d-model=8", "--num-heads=2", "--d-ff=8", "--num-encoder-layers=1", "--num-decoder-layers=1",
    "--src-vocab=29", "--tgt-vocab=29", "--batch=2", "--length=4", "--device=cpu",
)  # fmt: skip


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.compare.ROUNDS", 1)
    monkeypatch.setattr("zoo.measure.LEAST_SECONDS", 0.001)


def test_one_line_a_combination(zoo: Zoo) -> None:
    done = zoo("compare", *SMALL, "--attention=eager:bias=false,fused", "--norm=pre,post", "--mask=additive")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].split() == [
        "attention", "norm", "params", "GFLOP", "forward", "step", "memory", "vs", "eager",
    ]  # fmt: skip
    assert [line.split()[:2] for line in lines[1:5]] == [
        ["eager:bias=false", "pre"], ["eager:bias=false", "post"], ["fused", "pre"], ["fused", "post"],
    ]  # fmt: skip
    assert lines[1].split()[-1] == "equal"
    assert lines[6].startswith("Batch of 2 x 4 tokens on cpu; d_model 8, 2 heads, d_ff 8, 1+1 layers.")
    assert max(map(len, lines)) <= 80


def test_a_refused_combination_is_a_line_with_the_reason_below(zoo: Zoo) -> None:
    done = zoo("compare", *SMALL, "--embedding=scaled,shared", "--src-vocab=30")
    assert done.code == 0
    shared = next(line for line in done.out.splitlines() if line.startswith("shared"))
    assert shared.split() == ["shared", "(1)"]
    assert "(1) Refused. embedding=shared keeps one table" in done.out


def test_json_and_csv_hold_the_same(zoo: Zoo, tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    found = zoo("compare", *SMALL, "--norm=pre,post", "--json", "--csv", str(path)).json
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["norm"] for row in rows] == [one["norm"] for one in found] == ["pre", "post"]
    for row, one in zip(rows, found, strict=True):
        assert row == {key: "" if value is None else str(value) for key, value in one.items()}


def test_training_takes_the_sizes_of_the_tasks_preset_and_gives_a_score(zoo: Zoo) -> None:
    args = ("--batch=2", "--d-model=8", "--d-ff=8", "--device=cpu", "--train", "--steps=2", "--seed=1")
    (one,) = zoo("compare", *args, "--json").json
    assert (one["task"], one["steps"], one["seed"]) == ("reverse", 2, 1)
    assert (one["src_vocab"], one["num_heads"], one["length"], one["embedding"]) == (
        29,
        4,
        16,
        "unscaled:std=0.1",
    )
    assert 0 <= one["score"] <= 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--attention=eager,fuse",), "There is no attention 'fuse'. Did you mean fused?"),
        (("--norm=,",), "--norm=,: expected one or more variants, separated by commas."),
        (("--steps=5",), "give --train too"),
        (("--train", "--task=revers"), "There is no task 'revers'. Did you mean reverse?"),
        (("--train", "--src-vocab=9"), "src_vocab=9 is too small for the task: expected at least 29."),
        (("--length=600",), "--length=600 is over max_len=512: take --max-len=600 too."),
        (("--csv", "."), "is no regular file"),
        (("--csv", "no/such/dir.csv"), "there is no directory 'no/such'"),
    ],
)
def test_wrong_usage_is_a_sentence_before_anything_is_measured(
    args: tuple[str, ...], said: str, zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zoo.compare.build_on", None)
    done = zoo("compare", "--device=cpu", *args)
    assert (done.code, done.out) == (2, "")
    assert said in " ".join(done.err.split())


class TestTable:
    CONDITIONS = Conditions(8, 32, 0, torch.device("cpu"), "reverse", 300)
    FULL = Row(make_blueprint(), 44_140_544, 123_456_789, 0.0123, 1.5, 810_000_000, 1.24e-6, 0.998)

    def test_numbers_are_short_and_right(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        line = comparison([self.FULL], ["attention"], self.CONDITIONS).splitlines()[1]
        assert line.split() == [
            "eager", "44,140,544", "0.123", "12.3", "ms", "1.5", "s", "810", "MB", "1.2e-06", "99.8%",
        ]  # fmt: skip

    def test_long_names_are_wrapped_and_notes_told_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        file = "some/where/exercises/attention.py:MultiHeadAttention"
        blueprint = make_blueprint()
        choices = {**blueprint.choices, "attention": type(blueprint["attention"])(file)}
        long = Row(type(blueprint)(choices, blueprint.sizes), note="It is not written yet.")
        monkeypatch.setattr("zoo.registry.os.path.isfile", lambda _: True)
        text = comparison([self.FULL, long, long], ["attention", "norm"], self.CONDITIONS)
        assert max(map(len, text.splitlines())) <= 80
        assert text.count("(1) Refused. It is not written yet.") == 1
        assert "some/where" not in text
