"""`zoo compare translate`: trainings side by side, and what is refused."""

from __future__ import annotations

import csv
import html
from pathlib import Path

from tests.zoo.cli.conftest import Zoo
from zoo.training.record import read_record

PAIRS = "\n".join(f"{a} {b}\t{b.upper()} {a.upper()}" for a in "abcde" for b in "fghij") + "\n"
SMALL = ["--d-model=16", "--num-heads=2", "--d-ff=16", "--num-encoder-layers=1", "--num-decoder-layers=1"]
QUICK = [*SMALL, "--vocab-size=280", "--tokens=64", "--epochs=3", "--max-len=32", "--device=cpu"]


def line(folder: Path) -> list[str]:
    path = folder / "pairs.tsv"
    path.write_text(PAIRS, encoding="utf-8")
    return ["compare", "--task=translate", f"--train-tsv={path}", f"--valid-tsv={path}", *QUICK]


def test_a_row_for_each_combination_and_a_curve(zoo: Zoo, tmp_path: Path) -> None:
    done = zoo(
        *line(tmp_path),
        "--norm=pre,post",
        "--loss=label-smoothing,cross-entropy",
        f"--csv={tmp_path / 'c.csv'}",
    )
    assert done.code == 0
    for words in ("pre", "post", "cross-entropy", "valid. BLEU", "epoch 3"):
        assert words in done.out
    with (tmp_path / "c.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 3
    assert {(row["norm"], row["loss"].partition(":")[0]) for row in rows} == {
        (norm, loss) for norm in ("pre", "post") for loss in ("label-smoothing", "cross-entropy")
    }
    for row in rows:
        assert {"number", "train_loss", "valid_loss", "bleu", "torch", "processor"} <= row.keys()


def test_what_is_not_varied_is_trained_alike(zoo: Zoo, tmp_path: Path) -> None:
    first, second = (zoo(*line(tmp_path), "--json").json for _ in range(2))
    for one in (first, second):
        for epoch in one[0]["epochs"]:
            del epoch["seconds"]
    assert first == second


def test_trainings_are_recorded_and_shown_on_a_page(zoo: Zoo, tmp_path: Path) -> None:
    runs, page = tmp_path / "runs", tmp_path / "page.html"
    done = zoo(*line(tmp_path), "--norm=pre,post", f"--runs={runs}", f"--html={page}", "--json")
    assert f"Wrote {page}." in " ".join(done.err.split())
    for one, name in zip(done.json, ("pre", "post"), strict=True):
        record = read_record(runs / name)
        assert record.about["state"] == "finished"
        assert record.about["blueprint"] == one["blueprint"]
        assert [score for _, score in record.scores] == [epoch["bleu"] for epoch in one["epochs"]]
        assert record.score_name == "BLEU"
        assert all(record.norms.values())
        assert len(record.norms["encoder 1"]) == len(record.losses) == record.about["steps"]
    text = html.unescape(page.read_text(encoding="utf-8"))
    assert "zoo compare --task=translate" in text
    assert text.count("<polyline") >= 6
    for number in (f"{one['parameters']:,}" for one in done.json):
        assert number in text
    again = zoo(*line(tmp_path), "--norm=pre,post", f"--runs={runs}")
    assert "has records of trainings (pre, post). These replace them." in " ".join(again.err.split())


def test_a_page_alone_records_nothing_and_one_of_a_divergence_says_so(zoo: Zoo, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    given = ["--head=logits", "--loss=kl", "--allow-mismatch", "--lr=1e30", "--clip=0"]
    assert zoo(*line(tmp_path), *given, f"--html={page}").code == 0
    assert "The loss became" in page.read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "pairs.tsv"]


def test_a_loss_and_a_head_that_disagree_are_refused_unless_allowed(zoo: Zoo, tmp_path: Path) -> None:
    choices = ["--head=log-softmax,softmax", "--loss=kl"]
    refused = zoo(*line(tmp_path), *choices)
    assert refused.code == 2
    said = " ".join(refused.err.split())
    for words in ("next to no gradient", "rule loss-and-head", "--allow-mismatch", "head=log-softmax"):
        assert words in said
    allowed = zoo(*line(tmp_path), *choices, "--allow-mismatch", "--lr=0.01", "--warmup=2", "--json")
    right, wrong = ([epoch["train_loss"] for epoch in one["epochs"]] for one in allowed.json)
    assert right[0] - right[-1] > 0.5  # it learns
    assert abs(wrong[0] - wrong[-1]) < 0.1  # a plateau


def test_a_training_that_diverges_is_a_row_with_the_reason(zoo: Zoo, tmp_path: Path) -> None:
    done = zoo(*line(tmp_path), "--head=logits", "--loss=kl", "--allow-mismatch", "--lr=1e30", "--clip=0")
    assert done.code == 0
    assert "The loss became" in " ".join(done.out.split())


def test_other_rules_are_not_to_be_broken(zoo: Zoo, tmp_path: Path) -> None:
    for given, words in (
        (["--num-heads=3"], "not divisible"),
        (["--src-vocab=9"], "--vocab-size"),
        (["--train-src=x"], "--train-tgt"),
        ([f"--csv={tmp_path}"], "not a regular file"),
        (["--norm=,"], "one or more variants"),
        (["--tensorboard"], "--tensorboard writes to the folders of --runs DIR"),
        (["--html=no/page.html"], "there is no folder 'no'"),
    ):
        done = zoo(*line(tmp_path), *given, "--allow-mismatch")
        assert done.code == 2
        assert words in " ".join(done.err.split())
